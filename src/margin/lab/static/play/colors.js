// Colors of the page as numbers: canvas knows no custom properties.
const CLASSES = 10;
let known = null;

function read() {
  const style = getComputedStyle(document.documentElement);
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (name) => {
    probe.fillStyle = "#000";
    probe.fillStyle = style.getPropertyValue(name).trim();
    probe.fillRect(0, 0, 1, 1);
    return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  };
  return {
    classes: Array.from({ length: CLASSES }, (_, k) => rgb(`--k${k}`)),
    paper: rgb("--paper"), ink: rgb("--ink"), muted: rgb("--muted"), rule: rgb("--rule"), accent: rgb("--s1"), high: rgb("--high"),
    sans: style.getPropertyValue("--sans"),
  };
}

export const colors = () => (known ??= read());
export const css = ([r, g, b], alpha = 1) => `rgb(${r} ${g} ${b} / ${alpha})`;
export const classColor = (k) => (k < 0 ? colors().muted : colors().classes[k % CLASSES]);

const forget = () => { known = null; };
addEventListener("margin:theme", forget);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", forget);
