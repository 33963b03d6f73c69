// What is painted on a canvas is painted again when the theme changes.
import { useEffect, useState } from "/static/vendor/preact-htm.js";

/** A number that changes with the theme, for the list of what an effect depends on. */
export function useTheme() {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const change = () => setTurn((n) => n + 1);
    addEventListener("margin:theme", change);
    return () => removeEventListener("margin:theme", change);
  }, []);
  return turn;
}
