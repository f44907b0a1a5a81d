// What a page offers beside its sections: the list of them, and below each its SQL, its rows as CSV, its charts with
// title and legend as one SVG, and a link to itself.
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

  const csvOf = async (section) => (await debatebench.figures()).csv[section.id];

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

  const html = (name, properties, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  // The SQL of a section, or of the answer, which all pages of this kind have in one file.
  const main = document.querySelector("main");
  const queryOf = async (id) => (await debatebench.load(main.dataset.queries))[id];
  const sqlOf = (id, text) => {
    const details = html("details", { className: "sql" }, html("summary", { textContent: text }));
    const show = async () => {
      const code = html("code", { textContent: await queryOf(id) });
      details.append(html("pre", { tabIndex: 0 }, code), ...needsOf(await debatebench.figures()));
    };
    details.addEventListener("toggle", show, { once: true });
    return details;
  };
  const code = (text) => html("code", { textContent: text });
  const needsOf = ({ params = [], command = "" }) => {
    const values = params.flatMap(([name, value], at) => [at ? ", " : "Here, ", code(`$${name}`), ` is ${value}`]);
    const run = command ? [" Run it yourself: ", code(command)] : [];
    return params.length ? [html("p", { className: "note params" }, ...values, ".", ...run)] : [];
  };

  // Notes that are too long for the page are put into it when they unfold.
  const unfoldNotes = (section) =>
    section.querySelectorAll(":scope > details.notes:not(:has(> h3, > div))").forEach((details, place) => {
      const show = async () => {
        for (const [title, content] of (await debatebench.figures()).notes[section.id][place]) {
          details.append(html("h3", { dir: "auto", textContent: title }));
          details.append(...(content ? [html("div", { className: "said", dir: "auto", textContent: content })] : []));
        }
      };
      details.addEventListener("toggle", show, { once: true });
    });

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

  const sections = Array.from(document.querySelectorAll(".sections > section"));
  if (sections.length > 3) {
    const links = sections.map(({ id, firstElementChild }) =>
      html("li", {}, html("a", { href: `#${id}`, textContent: firstElementChild.textContent })),
    );
    document.querySelector(".columns").prepend(
      html(
        "nav",
        { className: "contents", ariaLabel: "On this page" },
        html("h2", { textContent: "On this page" }),
        html("ul", {}, ...links),
      ),
    );
  }
  const answer = document.getElementById("answer");
  if (answer && main.dataset.queries) {
    const details = sqlOf("answer", "SQL of this answer");
    details.classList.add("answer-sql");
    answer.after(details);
  }
  const known = new Set(document.getElementById("figures") ? ["table", "chart", "crosstab", "facts"] : []);
  for (const section of sections) {
    const tools = section.querySelector(":scope > .tools") ?? html("div", { className: "tools" });
    const kind = section.className.replace("show-", "");
    const name = section.querySelector("h2").textContent;
    const link = html("a", { className: "self", href: `#${section.id}`, textContent: "Link", ariaLabel: `Link to ${name}` });
    tools.append(...(kind === "text" ? [] : [sqlOf(section.id, "SQL")]), link);
    section.append(tools);
    if (kind === "notes") {
      unfoldNotes(section);
    }
    if (section.querySelector(".empty")) {
      continue;
    }
    if (known.has(kind)) {
      button(tools, section, "CSV", async () => save(nameOf(section, "csv"), "text/csv", [await csvOf(section)]));
    }
    if (section.querySelector("figure.chart")) {
      button(tools, section, "SVG", async () => save(nameOf(section, "svg"), "image/svg+xml", [await svgOf(section)]));
    }
  }
})();
