// Chooses tiles of the gallery by their tags: one tag of a group at a time, all groups together.
document.addEventListener("DOMContentLoaded", () => {
  const box = document.querySelector(".filters");
  if (!box) return;
  const tiles = [...document.querySelectorAll(".cards > .tile")];
  const buttons = [...box.querySelectorAll("button")];

  const show = () => {
    const wanted = buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.tag);
    for (const tile of tiles) tile.hidden = !wanted.every((tag) => tile.classList.contains(tag));
    for (const part of document.querySelectorAll("article section section")) {
      part.hidden = !part.querySelector(".tile:not([hidden])");
    }
    const left = tiles.filter((tile) => !tile.hidden).length;
    box.querySelector(".count").textContent = wanted.length ? `${left} of ${tiles.length}` : "";
  };

  for (const button of buttons) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") === "true";
      for (const other of button.parentElement.querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", String(!on));
      show();
    });
  }
  box.hidden = false;
});
