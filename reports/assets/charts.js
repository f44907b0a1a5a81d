// Draws the charts of a page from the specifications next to them. Colours named `var(--x)` are looked up in the style
// sheet, so charts follow the reader's theme.
"use strict";

(() => {
  document.documentElement.classList.add("js");
  const config = {
    responsive: true,
    displaylogo: false,
    showTips: false,
    modeBarButtons: [["toImage"]],
    toImageButtonOptions: { format: "svg" },
  };

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

  const charts = Array.from(document.querySelectorAll("figure.chart"), (figure) => ({
    plot: figure.querySelector(".plot"),
    spec: JSON.parse(figure.querySelector('script[type="application/json"]').textContent),
  }));

  const draw = () => {
    const style = getComputedStyle(document.documentElement);
    for (const { plot, spec } of charts) {
      const { data, layout } = resolved(spec, style);
      plot.style.height = `${layout.height}px`;
      Plotly.react(plot, data, layout, config);
    }
  };

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
