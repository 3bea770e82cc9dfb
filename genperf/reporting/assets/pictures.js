// A figure as a PNG: the colours and fonts that the page gives it are written into the drawing, then it is painted.
const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight"];

function standalone(svg) {
  const copy = svg.cloneNode(true), [, , w, hgt] = svg.getAttribute("viewBox").split(" ");
  const from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
  from.forEach((e, i) => {
    const style = getComputedStyle(e);
    for (const name of DRAWN) to[i].setAttribute(name, style.getPropertyValue(name));
  });
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("width", w);
  copy.setAttribute("height", hgt);
  return [new XMLSerializer().serializeToString(copy), +w, +hgt];
}

// The legend stands below the drawing, as on the page.
function painted(box, scale = 2) {
  const [text, w, hgt] = standalone(box.querySelector("svg[role=img]"));
  const image = new Image();
  return new Promise((done, failed) => {
    image.onerror = () => failed(new Error("the figure cannot be painted"));
    image.onload = () => {
      const entries = [...box.querySelectorAll(".legend span")].map((e) => e.textContent), marks = [...box.querySelectorAll(".legend svg")];
      const canvas = h("canvas", { width: w * scale, height: (hgt + 22 * entries.length + 8) * scale }), pen = canvas.getContext("2d");
      pen.scale(scale, scale);
      pen.fillStyle = getComputedStyle(box.closest(".card")).backgroundColor;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, w, hgt);
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      entries.forEach((words, i) => {
        const y = hgt + 14 + 22 * i, mark = marks[i].firstElementChild, style = getComputedStyle(mark);
        pen.globalAlpha = +style.opacity;
        pen.strokeStyle = style.stroke;
        pen.fillStyle = style.fill;
        pen.lineWidth = parseFloat(style.strokeWidth);
        pen.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat));
        pen.beginPath();
        if (mark.tagName === "line") { pen.moveTo(12, y); pen.lineTo(32, y); pen.stroke(); }
        else if (mark.tagName === "rect") pen.fillRect(13, y - 6, 18, 12);
        else { pen.arc(22, y, 4.5, 0, 2 * Math.PI); pen.fill(); }
        pen.globalAlpha = 1;
        pen.fillStyle = getComputedStyle(box.querySelector(".legend")).color;
        pen.fillText(words, 40, y);
      });
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("the figure cannot be painted"))), "image/png");
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
}

function offer(blob, name) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// A button under a figure that saves it.
function picturing(id, name) {
  return h("button", { class: "save", type: "button", onclick: () => painted($(id)).then((blob) => offer(blob, name)) }, "Download PNG");
}
