// What a reader would complain of on the page that is open, one line each (docs/visit.py runs this in a browser).
() => {
  const faults = new Set();
  const name = (element) => {
    const kind = [...element.classList].slice(0, 2).map((part) => `.${part}`).join("");
    return `${element.tagName.toLowerCase()}${kind} "${(element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40)}"`;
  };
  const shown = (element) => {
    const box = element.getBoundingClientRect();
    // What is for screen readers alone is a pixel large.
    return box.width > 1 && box.height > 1 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };

  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) faults.add(`the page is ${document.documentElement.scrollWidth} pixels wide`);

  const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
  const inScroller = (element) => {
    for (let up = element; up; up = up.parentElement) if (scrolls(up)) return true;
    return false;
  };

  // Colors are layered by their alpha; a page stands on white at last.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const color = (text) => {
    if (!known.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(text, [r, g, b, a / 255]);
    }
    return known.get(text);
  };
  const over = (front, back) => [0, 1, 2].map((k) => front[k] * front[3] + back[k] * (1 - front[3]));
  const ground = (element) => {
    const layers = [];
    for (let up = element; up; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.backgroundImage !== "none") return null;
      const layer = color(style.backgroundColor);
      layers.push(layer);
      if (layer[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const opacity = (element) => {
    let all = 1;
    for (let up = element; up; up = up.parentElement) all *= Number(getComputedStyle(up).opacity);
    return all;
  };

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  const faint = new Set(); // kinds of text: one example of each is enough
  while (texts.nextNode()) {
    const text = texts.currentNode.textContent.trim();
    const element = texts.currentNode.parentElement;
    if (!text || element.closest("script, style, noscript, option") || !shown(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    const box = range.getBoundingClientRect();
    if ((box.right > width + 1 || box.left < -1) && !inScroller(element)) faults.add(`beyond the edge: ${name(element)}`);
    for (let up = element; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up);
      const frame = up.getBoundingClientRect();
      if (scrolls(up)) {
        if (box.left < frame.left - 2 && up.scrollLeft <= 0) faults.add(`out of reach of scrolling: ${name(up)}`);
        break;
      }
      if (frame.width <= 1 || style.textOverflow === "ellipsis") break; // shortened on purpose, and it shows
      if (style.overflowX !== "visible" && (box.right > frame.right + 2 || box.left < frame.left - 2)) faults.add(`cut off: ${name(element)}`);
      if (["hidden", "clip"].includes(style.overflowY) && box.bottom > frame.bottom + 4) faults.add(`cut off below: ${name(element)}`);
    }
    if (seen.has(element) || !/[\p{L}\p{N}]/u.test(text)) continue; // a bullet or an arrow may be faint
    seen.add(element);
    const style = getComputedStyle(element);
    const below = ground(element);
    if (!below) continue;
    const front = color(element instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [over([...front.slice(0, 3), front[3] * opacity(element)], below), below].map(light).sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const contrast = (a + 0.05) / (b + 0.05);
    const kind = `${contrast.toFixed(2)}: ${element.tagName}.${element.className}`;
    if (contrast < least - 0.01 && !faint.has(kind)) faults.add(`contrast ${contrast.toFixed(2)}: ${name(element)}`);
    faint.add(kind);
    if (size < (element.closest("math") ? 7 : 9)) faults.add(`letters of ${size} pixels: ${name(element)}`);
  }

  for (const image of document.images) {
    if (image.complete && !image.naturalWidth) faults.add(`no picture: ${image.src}`);
    if (!image.hasAttribute("alt")) faults.add(`a picture without words: ${image.src}`);
  }
  for (const equation of document.querySelectorAll("math")) {
    const box = equation.getBoundingClientRect();
    if (equation.checkVisibility() && (!box.width || !box.height)) faults.add(`an empty equation: ${name(equation)}`);
    if (equation.querySelector("merror")) faults.add(`an equation with an error: ${name(equation)}`);
  }
  return [...faults];
}
