// Every visible text and mark whose contrast is below what WCAG 2.1 asks for at level AA: 4.5, for large text 3,
// and for graphics 3.
(() => {
  const rgb = s => { const m = s.match(/[\d.]+/g); return m ? m.slice(0, 3).map(Number).concat(m[3] === undefined ? 1 : Number(m[3])) : null; };
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  // The ground of an element of the page is that of the nearest ancestor that has one.
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c && c[3] > 0) return c;
    }
    return [255, 255, 255, 1];
  };
  // That of an element of a picture is the last area drawn before it that its middle lies on.
  const beneath = e => {
    const svg = e.ownerSVGElement, r = e.getBoundingClientRect(), x = r.x + Math.min(r.width, 30) / 2, y = r.y + r.height / 2;
    let c = ground(svg.parentElement);
    const own = rgb(getComputedStyle(svg).backgroundColor);
    if (own && own[3] > 0) c = own;
    for (const area of svg.querySelectorAll('rect')) {
      if (area === e || !(area.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
      const a = area.getBoundingClientRect(), fill = getComputedStyle(area).fill;
      if (fill !== 'none' && x >= a.left && x <= a.right && y >= a.top && y <= a.bottom) c = rgb(fill);
    }
    return c;
  };
  const out = {texts: 0, marks: 0, faults: []};
  const judge = (what, e, fore, back, least) => {
    const got = ratio(fore, back);
    if (got < least) out.faults.push(`${what} ${got.toFixed(2)} < ${least}: ${e.tagName} .${e.getAttribute('class')} "${(e.textContent || '').trim().slice(0, 40)}" ${fore} on ${back}`);
  };
  for (const e of document.querySelectorAll('body *')) {
    if (!e.getClientRects().length || e.closest('script, title, .hide')) continue;
    const s = getComputedStyle(e);
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    const size = parseFloat(s.fontSize), large = size >= 24 || size >= 18.66 && +s.fontWeight >= 700;
    if (own && e.ownerSVGElement && e.tagName === 'text') {
      out.texts++;
      judge('text', e, rgb(s.fill), beneath(e), large ? 3 : 4.5);
    } else if (own && !e.ownerSVGElement && e.tagName !== 'OPTION') {
      out.texts++;
      judge('text', e, rgb(s.color), ground(e), large ? 3 : 4.5);
    } else if (e.ownerSVGElement && e.matches('.b, .sig, .ok, .ev, .warn')) {
      out.marks++;
      judge('mark', e, rgb(s.fill), beneath(e), e.matches('.sig') ? 1 : 3); // a signal has an edge of its own
    } else if (e.ownerSVGElement && e.matches('.fail, .up, .act, .no, .why, .un, .ring')) {
      out.marks++;
      // A ring has an edge of its own, in the color of the paper.
      judge('mark', e, rgb(s.stroke), e.matches('.ring') ? rgb(getComputedStyle(e.ownerSVGElement).backgroundColor) : beneath(e), 3);
    }
  }
  return out;
})()
