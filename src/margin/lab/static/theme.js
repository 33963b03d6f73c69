// Before the first paint: the theme that was chosen here last, if one was.
(() => {
  try {
    const theme = localStorage.getItem("margin-theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch { /* a browser that stores nothing follows the system */ }
})();
