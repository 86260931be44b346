(function () {
  "use strict";
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  function theme() {
    var style = getComputedStyle(document.documentElement);
    var ink = style.getPropertyValue("--ink").trim(), faint = style.getPropertyValue("--line").trim();
    return {
      background: null,
      font: "system-ui, sans-serif",
      view: { stroke: null },
      axis: { labelColor: ink, titleColor: ink, domainColor: faint, tickColor: faint, gridColor: faint, titleFontWeight: 500 },
      legend: { labelColor: ink, titleColor: ink },
      rule: { color: ink },
      range: { category: ["#3b7dd8", "#d9622b", "#2b9c6b", "#9a5bd0", "#c2a21c", "#c8477f"] }
    };
  }
  function draw() {
    document.querySelectorAll(".chart").forEach(function (place) {
      var spec = JSON.parse(place.parentElement.querySelector("script").textContent);
      vegaEmbed(place, spec, { actions: false, renderer: "svg", config: theme() });
    });
  }
  draw();
  dark.addEventListener("change", draw);
})();
