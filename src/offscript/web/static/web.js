// Comfort only; every page works without it.
(function () {
  "use strict";
  var form = document.querySelector("form.claim");
  if (!form) return;
  var field = form.querySelector("input"), button = form.querySelector("button");
  form.addEventListener("submit", function () {
    button.setAttribute("aria-busy", "true");
    button.textContent = "Checking …";
  });
  window.addEventListener("pageshow", function () {
    button.removeAttribute("aria-busy");
    button.textContent = "Check";
  });
  document.addEventListener("keydown", function (event) {
    var typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  });
})();
