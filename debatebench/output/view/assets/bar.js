// On a page of the site that is served while it is renewed: says which runs play, and when this page has newer numbers.
"use strict";

(() => {
  const { src, dataset } = document.currentScript;
  const root = src.slice(0, src.lastIndexOf("/assets/"));
  const bar = document.createElement("p");
  bar.setAttribute("role", "status");
  bar.className = "banner";
  let said = "";

  function link(text, address) {
    const element = document.createElement("a");
    element.textContent = text;
    element.href = address;
    return element;
  }

  function show(state) {
    const isOld = state.version > Number(dataset.version);
    const text = `${isOld} ${state.playing.join(", ")}`;
    if (text === said) return;
    said = text;
    bar.replaceChildren();
    if (state.playing.length) bar.append("Playing: ", link(state.playing.join("; "), `${root}/now`), ". ");
    if (isOld) bar.append("There are newer numbers than this page shows: ", link("load them", location.href.split("#")[0]), ".");
    bar.hidden = !bar.childNodes.length;
  }

  async function ask() {
    try {
      const answer = await fetch(`${root}/now.json`, { cache: "no-store" });
      if (answer.ok) show(await answer.json());
    } catch {
      bar.hidden = true;
    }
    setTimeout(ask, document.hidden ? 20000 : 4000);
  }

  bar.hidden = true;
  document.querySelector("main").prepend(bar);
  ask();
})();
