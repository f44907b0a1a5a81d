// Reading: which speech is before the reader, and keys that move the speeches while the form has the focus.

import "./speaking.js";

(() => {
  const contents = document.getElementById("contents");
  if (!contents) return;
  const reading = document.getElementById("reading");
  const beside = document.querySelector(".beside");
  const speeches = [...document.querySelectorAll(".speech")];
  const links = [...contents.querySelectorAll("a")];
  const linesKept = 60;
  // How far down the window a reader looks, as a part of its height.
  const readingLine = 0.3;

  const edge = () => contents.getBoundingClientRect().bottom;

  // The place of the speech at a height of the window; -1 above the first.
  function speechAt(height) {
    return speeches.findLastIndex((speech) => speech.getBoundingClientRect().top <= height);
  }

  function current() {
    const isAtEnd = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 1;
    return isAtEnd ? speechAt(innerHeight) : speechAt(Math.max(edge() + linesKept, innerHeight * readingLine));
  }

  function show() {
    const place = current();
    const words = place < 0 ? `${speeches.length} speeches` : `Speech ${links[place].textContent.replace(".", ` of ${speeches.length}:`)}`;
    if (reading.textContent !== words) reading.textContent = words;
    links.forEach((link, each) => {
      if (each === place) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  }

  let isWaiting = false;
  function later() {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      show();
    });
  }

  function goTo(place) {
    const speech = speeches[place];
    if (!speech) return;
    contents.open = false;
    speech.scrollIntoView();
    later();
    return speech;
  }

  contents.addEventListener("click", (event) => {
    const place = links.indexOf(event.target.closest("a"));
    if (place < 0) return;
    event.preventDefault();
    goTo(place).focus({ preventScroll: true });
  });

  contents.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !contents.open) return;
    contents.open = false;
    contents.querySelector("summary").focus();
  });

  // Whether the form stands beside the speeches, and so has a scroll position of its own.
  const isBeside = () => getComputedStyle(beside).position === "sticky";

  function hasOwnSpace(at) {
    return !(at instanceof HTMLInputElement && at.type === "radio" && at.checked);
  }

  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
    if (document.querySelector("dialog[open]")) return;
    // A slider moves by these keys itself.
    const isPage = ["PageDown", "PageUp"].includes(event.key) && event.target.type !== "range";
    const isInForm = beside.contains(event.target) && isBeside();
    const isSpace = event.key === " " && isInForm && !hasOwnSpace(event.target);
    const step = event.key === "PageUp" || (isSpace && event.shiftKey) ? -1 : 1;
    if (isPage && event.shiftKey) {
      event.preventDefault();
      // The focus stays: a person in the form goes on answering, one among the speeches goes on reading.
      const speech = goTo(speechAt(edge() + linesKept) + step);
      if (speech && speeches.includes(document.activeElement)) speech.focus({ preventScroll: true });
    } else if ((isPage && isInForm) || isSpace) {
      event.preventDefault();
      scrollBy(0, step * (innerHeight - Math.max(edge(), 0) - linesKept));
    }
  });

  addEventListener("scroll", later, { passive: true });
  addEventListener("resize", later);
  show();
})();
