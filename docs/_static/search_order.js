// How the search orders what it finds: a page whose title is what was asked for, then models, guide and recipes.
// Sphinx reads this table; the numbers not explained here are its own.
(() => {
  const plain = (text) => text.toLowerCase().replace(/^margin\./, "").replace(/[^a-z0-9]/g, "");
  const pages = { "reference/": 6, "guide/": 5, "recipes/": 4, "gallery/": 0, "notes/": 0, changes: -4, benchmarks: -4 };
  window.Scorer = {
    score: ([page, title, anchor, , score]) => {
      const asked = plain(new URLSearchParams(window.location.search).get("q") || "");
      const found = plain(title.split(" > ").pop());
      const place = Object.keys(pages).find((start) => page.startsWith(start));
      let better = place ? pages[place] : 0;
      if (asked && found === asked) better += anchor ? 10 : 40;
      else if (asked.length > 3 && found.startsWith(asked)) better += page.startsWith("reference/") ? 20 : 6;
      return score + better;
    },
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 15, 1: 5, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
  };
  // From disk a page may not read others, so what it found is shown without an excerpt, not with an error for each.
  if (window.location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  // An entry of the index stands at a place without text, for which Sphinx makes no excerpt and then appends it.
  if (typeof Search !== "undefined") {
    const excerpt = Search.makeSearchSummary;
    Search.makeSearchSummary = (...asked) => excerpt(...asked) || document.createElement("p");
  }
})();
