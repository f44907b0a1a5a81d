
// Searches the page, and highlights what a box of the drawing reads and what reads it.
"use strict";

(() => {
  const drawing = document.querySelector(".drawing svg");
  const nodes = new Map(Array.from(drawing.querySelectorAll(".node"), (node) => [node.dataset.name, node]));
  const edges = Array.from(drawing.querySelectorAll(".edge"));

  const reach = (name, from, to) => {
    const found = new Set([name]);
    const open = [name];
    while (open.length > 0) {
      const current = open.pop();
      for (const edge of edges) {
        if (edge.dataset[from] === current) {
          edge.classList.add("lit");
          if (!found.has(edge.dataset[to])) {
            found.add(edge.dataset[to]);
            open.push(edge.dataset[to]);
          }
        }
      }
    }
    return found;
  };

  const dim = () => {
    drawing.classList.remove("tracing");
    for (const each of drawing.querySelectorAll(".lit")) {
      each.classList.remove("lit");
    }
  };

  const trace = (node) => {
    dim();
    drawing.classList.add("tracing");
    const name = node.dataset.name;
    for (const each of [...reach(name, "to", "from"), ...reach(name, "from", "to")]) {
      nodes.get(each).classList.add("lit");
    }
  };

  const input = document.getElementById("search");
  const found = document.getElementById("found");
  const sections = Array.from(document.querySelectorAll(".relation"), (section) => ({
    section,
    text: (section.dataset.search + " " + section.textContent).toLowerCase(),
    entry: document.querySelector(`.models li[data-of="${CSS.escape(section.id)}"]`),
    node: drawing.querySelector(`.node[href="#${CSS.escape(section.id)}"]`),
  }));

  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    dim();
    drawing.classList.toggle("searching", words.length > 0);
    let count = 0;
    for (const { section, text, entry, node } of sections) {
      const fits = words.every((word) => text.includes(word));
      count += fits ? 1 : 0;
      section.hidden = !fits;
      if (entry) {
        entry.hidden = !fits;
      }
      if (node && fits && words.length > 0) {
        node.classList.add("lit");
      }
    }
    for (const heading of document.querySelectorAll("h2.schema")) {
      let next = heading.nextElementSibling;
      while (next && next.matches(".relation") && next.hidden) {
        next = next.nextElementSibling;
      }
      heading.hidden = !(next && next.matches(".relation"));
    }
    for (const group of document.querySelectorAll(".models details")) {
      group.hidden = !group.querySelector("li:not([hidden])");
    }
    found.textContent = words.length > 0 ? `${count} found` : "";
  };

  const show = () => {
    const lit = drawing.querySelector(".node.lit rect");
    if (lit) {
      const frame = drawing.parentElement;
      frame.scrollTo(lit.x.baseVal.value - frame.clientWidth / 2, lit.y.baseVal.value - frame.clientHeight / 2);
    }
  };

  for (const node of nodes.values()) {
    node.addEventListener("mouseenter", () => trace(node));
    node.addEventListener("focus", () => trace(node));
    node.addEventListener("mouseleave", search);
    node.addEventListener("blur", search);
  }

  // A link to something that the search hides shows it again.
  window.addEventListener("hashchange", () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.closest(".relation[hidden]")) {
      input.value = "";
      search();
      target.scrollIntoView();
    }
  });

  input.addEventListener("input", () => {
    search();
    show();
  });
  document.querySelector(".search").hidden = false;
})();
