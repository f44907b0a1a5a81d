// Downloads of each figure: its rows as CSV, and its charts with title and legend as one SVG.
"use strict";

(() => {
  const svgSpace = "http://www.w3.org/2000/svg";
  const width = 760;
  const edge = 16;

  const save = (name, type, parts) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(parts, { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };

  // The name of a file, from the title of the page and the section's id.
  const nameOf = (section, ending) => {
    const title = document.querySelector("h1").textContent.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    return `${title.slice(0, 60).replace(/^-|-$/g, "")}-${section.id}.${ending}`;
  };

  let unpacking = null;
  const csvOf = async (section) => {
    unpacking ??= debatebench.unpacked(document.getElementById("csv").textContent);
    return (await unpacking)[section.id];
  };

  const element = (name, attributes, text = "") => {
    const made = document.createElementNS(svgSpace, name);
    for (const [key, value] of Object.entries(attributes)) {
      made.setAttribute(key, value);
    }
    made.textContent = text;
    return made;
  };

  // The entries of a legend side by side in as many lines as they need, from `top` on, and the height of these.
  const legendOf = (section, top, colourOf) => {
    const entries = [];
    let [x, y] = [edge, top];
    for (const item of section.querySelectorAll(".legend li")) {
      const name = item.querySelector("bdi").textContent;
      const room = 34 + 7.2 * name.length + 16;
      if (x > edge && x + room > width - edge) {
        [x, y] = [edge, y + 20];
      }
      const mark = item.querySelector("svg").cloneNode(true);
      const colour = colourOf(item.querySelector("svg"));
      mark.removeAttribute("class");
      for (const [key, value] of Object.entries({ x, y, height: 12, fill: colour, stroke: colour })) {
        mark.setAttribute(key, value);
      }
      mark.querySelector("line")?.setAttribute("stroke-width", "2.5");
      entries.push(mark, element("text", { x: x + 32, y: y + 11, "font-size": 13 }, name));
      x += room;
    }
    return { entries, height: entries.length ? y - top + 28 : 0 };
  };

  // Every chart of the section below the other, on white.
  const svgOf = async (section) => {
    const { images, colourOf, font } = await debatebench.chartImages(section, width - 2 * edge);
    const root = element("svg", { width, "font-family": font, fill: "#1b1d22" });
    root.append(element("rect", { width: "100%", height: "100%", fill: "#ffffff" }));
    root.append(
      element("text", { x: edge, y: 32, "font-size": 17, "font-weight": 600 }, section.querySelector("h2").textContent),
    );
    const legend = legendOf(section, 48, colourOf);
    root.append(...legend.entries);
    let y = 48 + legend.height;
    for (const { title, text, height } of images) {
      if (title) {
        root.append(element("text", { x: edge, y: y + 18, "font-size": 13, "font-weight": 600 }, title));
        y += 26;
      }
      const chart = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
      chart.setAttribute("x", edge);
      chart.setAttribute("y", y);
      root.append(document.importNode(chart, true));
      y += height + 8;
    }
    root.setAttribute("height", y);
    root.setAttribute("viewBox", `0 0 ${width} ${y}`);
    return new XMLSerializer().serializeToString(root);
  };

  const button = (tools, section, text, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.setAttribute("aria-label", `${text} of ${section.querySelector("h2").textContent}`);
    made.addEventListener("click", async () => {
      made.disabled = true;
      try {
        await action();
      } finally {
        made.disabled = false;
      }
    });
    tools.querySelector(".self").before(made);
  };

  const known = new Set(document.getElementById("csv") ? ["table", "chart", "crosstab", "facts"] : []);
  for (const tools of document.querySelectorAll("section > .tools")) {
    const section = tools.parentElement;
    const link = tools.querySelector(".self");
    link.setAttribute("aria-label", `Link to ${section.querySelector("h2").textContent}`);
    if (section.querySelector(".empty")) {
      continue;
    }
    if (known.has(section.className.replace("show-", ""))) {
      button(tools, section, "CSV", async () => save(nameOf(section, "csv"), "text/csv", [await csvOf(section)]));
    }
    if (section.querySelector("figure.chart")) {
      button(tools, section, "SVG", async () => save(nameOf(section, "svg"), "image/svg+xml", [await svgOf(section)]));
    }
  }
})();
