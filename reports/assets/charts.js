// Draws the charts of a page from the specifications next to them, each when it comes into view. Colours named `var(--x)`
// are looked up in the style sheet, so charts follow the reader's theme.
"use strict";

(() => {
  const library = new URL("plotly-cartesian.min.js", document.currentScript.src).href;
  const config = { responsive: true, displayModeBar: false, showTips: false };
  // What a sheet of A4 or of letter paper has beside its margins, in pixels.
  const sheetWidth = 660;

  const resolved = (value, style) => {
    if (typeof value === "string") {
      const name = /^var\((--[a-z0-9-]+)\)$/.exec(value);
      return name ? style.getPropertyValue(name[1]).trim() : value;
    }
    if (Array.isArray(value)) {
      return value.map((item) => resolved(item, style));
    }
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item, style)]));
    }
    return value;
  };

  // What all charts have alike; a chart's own layout goes before it.
  let alike = null;
  const framed = ({ data, layout }) => ({
    data,
    layout: {
      ...alike.layout,
      ...layout,
      xaxis: { ...alike.axis, ...layout.xaxis },
      yaxis: { ...alike.axis, ...layout.yaxis },
    },
  });

  let loading = null;
  const loaded = () => {
    loading ??= Promise.all([loadScript(), debatebench.load("charts").then((found) => (alike = found))]);
    return loading;
  };
  const loadScript = () =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = library;
      script.addEventListener("load", resolve);
      script.addEventListener("error", reject);
      document.head.append(script);
    });

  const charts = new Map();
  const plotOf = (figure) => figure.querySelector(".plot");

  const read = async (figure) => {
    const chart = charts.get(figure);
    chart.spec ??= (await debatebench.figures()).charts[chart.place];
  };
  const ready = (figure) => {
    const chart = charts.get(figure);
    chart.reading ??= chart.spec ? Promise.resolve() : read(figure);
    return chart.reading;
  };

  const draw = (figure, width) => {
    const chart = charts.get(figure);
    chart.isDrawn = true;
    const { data, layout } = resolved(framed(chart.spec), getComputedStyle(document.documentElement));
    const plot = plotOf(figure);
    plot.style.height = `${layout.height}px`;
    if (width) {
      layout.width = Math.min(width, plot.clientWidth || width);
    }
    return Plotly.react(plot, data, layout, config).then(() => fitTexts(plot));
  };

  // The texts of a heatmap become as small as its columns are narrow; those that could not be read are left out.
  const leastFont = 7;
  const widthOfLetter = 0.58;
  const fitTexts = async (plot) => {
    const width = plot._fullLayout._size.w;
    for (const [place, { type, text, textfont }] of plot.data.entries()) {
      if (type !== "heatmap") continue;
      const longest = Math.max(...text.flat().map((each) => each.length));
      const size = Math.floor((width / text[0].length - 2) / (longest * widthOfLetter));
      if (size < textfont.size) {
        await Plotly.restyle(plot, size < leastFont ? { texttemplate: "" } : { "textfont.size": size }, [place]);
      }
    }
  };

  // The charts of a section as SVG texts, in the light theme whatever the page's is.
  const chartImages = async (section, width) => {
    await Promise.all([loaded(), ...Array.from(section.querySelectorAll("figure.chart"), ready)]);
    const root = document.documentElement;
    const wasPrinting = root.classList.contains("printing");
    root.classList.add("printing");
    const style = getComputedStyle(root);
    const figures = Array.from(section.querySelectorAll("figure.chart"), (figure) => ({
      title: figure.querySelector("figcaption")?.textContent ?? "",
      ...resolved(framed(charts.get(figure).spec), style),
    }));
    const marks = new Map(
      Array.from(section.querySelectorAll(".legend svg"), (mark) => [mark, getComputedStyle(mark).color]),
    );
    const font = style.getPropertyValue("--font").trim();
    root.classList.toggle("printing", wasPrinting);
    const images = [];
    for (const { title, data, layout } of figures) {
      const height = layout.height;
      const options = { format: "svg", width, height, imageDataOnly: true };
      images.push({ title, height, text: await Plotly.toImage({ data, layout: { ...layout, width } }, options) });
    }
    return { images, font, colourOf: (mark) => marks.get(mark) };
  };

  const redraw = () => charts.forEach((chart, figure) => chart.isDrawn && draw(figure));

  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting) {
          watcher.unobserve(target);
          Promise.all([loaded(), ready(target)]).then(() => draw(target));
        }
      }
    },
    { rootMargin: "50% 0px" },
  );

  // The place of a chart has its height before there is anything to draw, so that nothing below it moves.
  const furnish = (figure) => {
    const title = figure.querySelector("figcaption")?.textContent;
    const named = [figure.closest("section").querySelector("h2").textContent, title].filter(Boolean).join(", ");
    const plot = Object.assign(document.createElement("div"), { className: "plot", role: "img" });
    plot.ariaLabel = `Chart: ${named}. The table below holds its numbers.`;
    plot.style.height = `${figure.dataset.height}px`;
    const sight = Object.assign(document.createElement("div"), { className: "sight" });
    if (figure.dataset.width) {
      plot.style.minWidth = `${figure.dataset.width}px`;
      sight.tabIndex = 0;
    }
    sight.append(plot);
    figure.ariaLabel = named;
    figure.append(sight);
    if (figure.dataset.height > tallest) {
      figure.classList.add("folded");
      figure.append(
        Object.assign(document.createElement("button"), {
          type: "button",
          className: "unfold",
          textContent: "Show the whole chart",
        }),
      );
    }
  };
  const tallest = 900;

  const drawnMarks = {
    line: (dash) => ["line", { x1: 1, y1: 6, x2: 25, y2: 6, ...(dash ? { "stroke-dasharray": dash } : {}) }],
    point: () => ["circle", { cx: 13, cy: 6, r: 5 }],
    bar: () => ["rect", { x: 7, width: 12, height: 12, rx: 2 }],
  };
  const made = (name, attributes, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    element.append(...children);
    return element;
  };
  // An entry of a legend says how its series is drawn, and in which colour.
  const drawMark = (entry) => {
    const [mark, colour] = entry.dataset.mark.split(" ");
    const drawn = made(...drawnMarks[mark](entry.dataset.dash));
    entry.prepend(made("svg", { class: `ink-${colour}`, width: 26, height: 12, "aria-hidden": "true" }, drawn), " ");
  };

  const watch = (figure, place) => {
    charts.set(figure, { place, spec: null, reading: null, isDrawn: false });
    watcher.observe(figure);
  };

  document.querySelectorAll(".legend li").forEach(drawMark);
  document.querySelectorAll("figure.chart").forEach((figure, place) => {
    furnish(figure);
    watch(figure, place);
  });
  addEventListener("load", () => setTimeout(() => charts.forEach((_, figure) => ready(figure)), 1000));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // Paper is white, and narrower than a screen. Nothing can be awaited here: what is not loaded yet is printed as a table.
  const unfolded = [];
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("printing");
    for (const [figure, { spec }] of charts) {
      if (window.Plotly && alike && spec) {
        draw(figure, sheetWidth);
        continue;
      }
      const table = figure.closest("section").querySelector("details.numbers:not([open])");
      if (table) {
        table.open = true;
        unfolded.push(table);
      }
    }
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    unfolded.splice(0).forEach((table) => (table.open = false));
    if (window.Plotly && alike) {
      redraw();
    }
  });

  document.addEventListener("click", ({ target }) => {
    if (target.matches("button.unfold")) {
      const figure = target.closest("figure");
      figure.classList.remove("folded");
      target.remove();
      figure.tabIndex = -1;
      figure.focus({ preventScroll: true });
    }
  });

  // `showChart` is for scripts that compute other numbers for a chart, or add one.
  window.debatebench = Object.assign(window.debatebench ?? {}, {
    chartImages,
    showChart: (figure, spec) => {
      if (!charts.has(figure)) {
        watch(figure);
      }
      const chart = charts.get(figure);
      chart.spec = spec;
      return chart.isDrawn ? draw(figure) : undefined;
    },
  });
})();
