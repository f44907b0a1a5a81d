// Makes the columns of every table sortable, with buttons in their headings, and unfolds the cases that a cell leads to.
"use strict";

(() => {
  const order = new Intl.Collator("en", { numeric: true });

  const compare = (a, b) => {
    // Cells without a value stay at the end in either order.
    if (a.missing || b.missing) {
      return { fixed: true, sign: Number(a.missing) - Number(b.missing) };
    }
    const sign = a.number !== null && b.number !== null ? a.number - b.number : order.compare(a.text, b.text);
    return { fixed: false, sign };
  };

  // The number at the beginning of a cell; where its unit differs from cell to cell, the cell says by what it sorts.
  const numberOf = (cell, text) => {
    if ("sort" in cell.dataset) {
      return Number(cell.dataset.sort);
    }
    const found = /^([−+]?)\$?([0-9,]+(?:\.[0-9]+)?)(%|=|$| to )/.exec(text);
    return found && Number(found[2].replaceAll(",", "")) * (found[1] === "−" ? -1 : 1);
  };

  const keyOf = (row, index) => {
    const cell = row.cells[index];
    const text = cell.textContent.trim();
    return { row, text, number: numberOf(cell, text), missing: text.startsWith("–") };
  };

  // A word with a hyphen, such as the name of a model, is not broken.
  const words = (text) =>
    text.split(/(\s+)/).map((word) => {
      if (!word.slice(1, -1).includes("-") || word.length > 40) {
        return word;
      }
      const unbroken = document.createElement("span");
      unbroken.className = "nb";
      unbroken.textContent = word;
      return unbroken;
    });

  // A very long text shows how it begins, and unfolds.
  const folded = (text) => {
    const details = document.createElement("details");
    details.className = "whole";
    const summary = document.createElement("summary");
    const cut = Math.max(text.lastIndexOf(" ", 199), text.lastIndexOf("\n", 199));
    summary.textContent = text.slice(0, cut > 100 ? cut : 200);
    details.append(summary, text.slice(summary.textContent.length));
    return details;
  };

  const cellOf = ([text, look, sortKey, href, mark], isHeading) => {
    const cell = document.createElement(isHeading ? "th" : "td");
    if (isHeading) {
      cell.scope = "row";
    }
    if (look) {
      cell.className = look;
    }
    if (sortKey) {
      cell.dataset.sort = sortKey;
    }
    if (text.length > 400 && !href) {
      cell.append(folded(text));
      return cell;
    }
    const inner = href ? document.createElement("a") : mark ? document.createElement("span") : cell;
    if (href) {
      inner.setAttribute("href", href);
    } else if (mark) {
      inner.className = `mark mark-${mark}`;
    }
    inner.append(...words(text));
    if (inner !== cell) {
      cell.append(inner);
    }
    return cell;
  };

  // The rows of a long table that are packed below it.
  const complete = async (table) => {
    const rest = table.parentElement.nextElementSibling?.matches(".rest") ? table.parentElement.nextElementSibling : null;
    if (!rest) {
      return;
    }
    rest.remove();
    const hasHeadings = table.tBodies[0].rows[0].cells[0].tagName === "TH";
    for (const cells of await debatebench.unpacked(rest.querySelector("script").textContent)) {
      const row = document.createElement("tr");
      row.append(...cells.map((cell, at) => cellOf(cell, hasHeadings && at === 0)));
      table.tBodies[0].append(row);
    }
  };

  const sort = async (table, heading, index) => {
    await complete(table);
    const descending = heading.getAttribute("aria-sort")
      ? heading.getAttribute("aria-sort") === "ascending"
      : heading.classList.contains("n");
    for (const other of table.tHead.rows[0].cells) {
      other.removeAttribute("aria-sort");
    }
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const body = table.tBodies[0];
    const keys = Array.from(body.rows, (row) => keyOf(row, index));
    keys.sort((a, b) => {
      const { fixed, sign } = compare(a, b);
      return descending && !fixed ? -sign : sign;
    });
    body.append(...keys.map((key) => key.row));
  };

  const sortable = (table) => {
    if (table.tBodies[0].rows.length < 2) {
      return;
    }
    Array.from(table.tHead.rows[0].cells).forEach((heading, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sort(table, heading, index));
    });
  };

  // A table that scrolls is reached by the keyboard.
  for (const scroll of document.querySelectorAll(".scroll:not([role])")) {
    const caption = scroll.querySelector("caption").textContent;
    Object.assign(scroll, { role: "region", tabIndex: 0, ariaLabel: caption });
  }
  document.querySelectorAll("table").forEach(sortable);
  for (const rest of document.querySelectorAll(".rest")) {
    const scroll = rest.previousElementSibling;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "unfold";
    button.textContent = "Show all";
    button.setAttribute("aria-label", `Show all rows of ${scroll.querySelector("caption").textContent}`);
    button.addEventListener("click", async () => {
      await complete(scroll.querySelector("table"));
      scroll.focus({ preventScroll: true });
    });
    rest.append(button);
  }
  // For scripts that add a table.
  window.debatebench = Object.assign(window.debatebench ?? {}, { sortable });

  const unfold = () => {
    const cases = location.hash.startsWith("#cases-") && document.getElementById(location.hash.slice(1));
    if (cases) {
      cases.closest("details").open = true;
      cases.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", unfold);
  unfold();
})();
