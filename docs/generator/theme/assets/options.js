// An option is found as it is typed. The search takes a dash before a word as "without this word", so it reads the box
// without the two dashes of options.
"use strict";

(() => {
  const box = document.querySelector(".md-search__input");
  const { get, set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  Object.defineProperty(box, "value", {
    get() {
      return get.call(this).replace(/(^|\s)--+(?=\w)/g, "$1");
    },
    set,
  });
})();
