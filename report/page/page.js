'use strict';
// What is shown follows from the fragment of the address alone: see show, at the end.
(() => {
const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const index = JSON.parse($('#index').textContent);
const filterNames = ['q', 'verdict', 'group', 'rule', 'on'];
const form = $('#filters');
const rows = all('#matrix tr[data-n]');

// --- addresses ---

const state = () => new URLSearchParams(location.hash.slice(1));
const escape = s => encodeURIComponent(s).replace(/%2F/g, '/').replace(/%40/g, '@');
const link = params => '#' + Object.entries(params).filter(([, v]) => v !== '' && v != null).map(([k, v]) => k + '=' + escape(v)).join('&');

// el makes an element; a child that is a string becomes text.
function el(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) if (v != null && v !== false) e.setAttribute(k, v === true ? '' : v);
  e.append(...children.filter(c => c != null));
  return e;
}

// --- the matrix ---

// lastCells is where Esc goes back to.
let lastCells = '#view=cases', lastCell = null;

function filters(s) {
  const f = {};
  for (const name of filterNames) f[name] = s.get(name) || '';
  return f;
}

// filter shows the rows and columns that fit. A cell of a row that is shown for another cell is dimmed.
function filter(f) {
  const words = f.q.toLowerCase().split(/\s+/).filter(Boolean);
  const column = index.kubelets.indexOf(f.on);
  const wanted = cell => !f.verdict || (f.verdict === '!pass' ? cell[0] !== 'pass' && cell[0] !== 'skipped' : cell[0] === f.verdict);
  let cases = 0, cells = 0;
  for (const row of rows) {
    const c = index.cases[row.dataset.n];
    const has = c.cells.map((cell, i) => cell && (column < 0 || i === column) && wanted(cell) &&
      (!f.rule || (c.rules || []).includes(f.rule) || cell[1] === f.rule) &&
      words.every(w => [c.id, c.title, ...(c.rules || []), cell[0], cell[1], cell[2]].some(t => t && t.toLowerCase().includes(w))));
    const fits = has.some(Boolean) && (!f.group || c.id.split('/')[0] === f.group);
    row.hidden = !fits;
    has.forEach((yes, i) => row.cells[i + 1].classList.toggle('dim', !yes));
    if (fits) { cases++; cells += has.filter(Boolean).length; }
  }
  for (const body of all('#matrix tbody')) body.hidden = !all('tr[data-n]', body).some(r => !r.hidden);
  for (const row of all('#matrix thead tr, #matrix tr[data-n]')) {
    [...row.cells].forEach((td, i) => { if (i > 0) td.hidden = column >= 0 && i - 1 !== column; });
  }
  $('#none').hidden = cases > 0;
  $('.scroll', $('#cases')).hidden = cases === 0;
  $('#shown').textContent = cases === rows.length && !f.verdict && column < 0 ? `${cases} cases` : `${cases} of ${rows.length} cases, ${cells} cells`;
  const worst = $('#worst');
  if (worst) worst.hidden = filterNames.some(n => f[n]);
  rove();
}

// fill puts the filters of the address into the form.
function fill(f) {
  for (const name of filterNames) {
    const field = form.elements[name];
    if (field.value !== f[name]) field.value = f[name];
  }
}

// typed puts the form into the address, without a new place in the history for every letter.
function typed() {
  const f = {view: 'cases'};
  for (const name of filterNames) f[name] = form.elements[name].value;
  history.replaceState(null, '', link(f));
  show();
}
form.addEventListener('input', typed);
form.addEventListener('submit', e => e.preventDefault());
form.addEventListener('reset', e => { e.preventDefault(); clear(); });
function clear() {
  for (const name of filterNames) form.elements[name].value = '';
  typed();
  form.elements.q.focus();
}
$('#clear').addEventListener('click', clear);

// visible are the links of the matrix, row by row.
const visible = () => rows.filter(r => !r.hidden).map(r => [...r.cells].slice(1).filter(td => !td.hidden).map(td => $('a', td)));

// rove leaves one cell in the order of the Tab key: the last one, or the first.
function rove(to) {
  for (const a of all('#matrix td a[tabindex="0"]')) a.tabIndex = -1;
  const grid = visible().flat().filter(Boolean);
  const target = to || (grid.includes(lastCell) ? lastCell : grid[0]);
  if (target) target.tabIndex = 0;
}
for (const a of all('#matrix td a')) a.tabIndex = -1;
$('#matrix').addEventListener('focusin', e => { if (e.target.matches('td a')) { lastCell = e.target; rove(lastCell); } });
$('#matrix').addEventListener('keydown', e => {
  const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1e3], End: [0, 1e3]};
  const move = moves[e.key];
  if (!move || e.ctrlKey || e.altKey || e.metaKey) return;
  const grid = visible();
  let y = grid.findIndex(r => r.includes(document.activeElement));
  if (y < 0) return;
  e.preventDefault();
  let x = grid[y].indexOf(document.activeElement);
  const clamp = (n, most) => Math.max(0, Math.min(n, most));
  if (Math.abs(move[1]) > 1) {
    const there = grid[y].map((a, i) => a ? i : -1).filter(i => i >= 0);
    x = move[1] < 0 ? there[0] : there[there.length - 1];
    grid[y][x].focus();
    return;
  }
  for (let step = 0; step < 1000; step++) { // past cells that did not run
    const nx = clamp(x + move[1], grid[y].length - 1), ny = clamp(y + move[0], grid.length - 1);
    if (nx === x && ny === y) return;
    [x, y] = [nx, ny];
    if (grid[y][x]) { grid[y][x].focus(); return; }
  }
});

// --- a cell ---

const unpacked = new Map();

// unpack reads the data of a case.
async function unpack(n) {
  if (!unpacked.has(n)) {
    const packed = Uint8Array.from(atob($('#data-' + n).textContent), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    unpacked.set(n, JSON.parse(await new Response(stream).text()));
  }
  return unpacked.get(n);
}

const seconds = ms => (ms < 0 ? '−' : '+') + (Math.abs(ms) / 1000).toFixed(3) + ' s';

// drawing makes the picture of a run, each entry with its title.
function drawing(run) {
  const svg = document.importNode(new DOMParser().parseFromString(run.picture, 'image/svg+xml').documentElement, true);
  for (const [n, at, channel, text, flag] of run.lines) {
    const mark = $('#line-' + n, svg);
    if (!mark) continue;
    const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
    title.textContent = `line ${n}, ${seconds(at)}, ${channel}: ${text}${flag ? ' (' + flag + ')' : ''}`;
    mark.prepend(title);
  }
  return svg;
}

// lines makes the table of the entries. address makes the link of a line.
function lines(run, address) {
  const body = el('tbody');
  for (const [n, at, channel, text, flag] of run.lines) {
    const bad = /not allowed|cannot be read|in question/.test(flag);
    body.append(el('tr', {'data-line': n, class: flag ? 'flag' + (bad ? ' bad' : '') : null},
      el('td', {}, el('a', {href: address(n)}, String(n))), el('td', {}, seconds(at)), el('td', {}, channel),
      el('td', {}, text, flag ? el('b', {}, '  ← ' + flag) : null)));
  }
  return el('table', {class: 'lines'}, el('caption', {class: 'hide'}, 'Lines of the trace'), body);
}

// select marks a line in the picture and in the table.
function select(root, n, scroll) {
  for (const e of all('.sel', root)) e.remove();
  for (const tr of all('tr.on', root)) tr.classList.remove('on');
  if (!n) return;
  const mark = $('.pictures svg #line-' + CSS.escape(n), root), tr = $(`tr[data-line="${CSS.escape(n)}"]`, root);
  if (mark) {
    const box = mark.getBBox(), ring = document.createElementNS('http://www.w3.org/2000/svg', 'circle');
    const tall = box.height > 60; // a pole: its head is marked
    for (const [k, v] of [['class', 'sel'], ['cx', box.x + box.width / 2], ['cy', tall ? box.y + 6 : box.y + box.height / 2], ['r', 11]]) ring.setAttribute(k, v);
    mark.after(ring);
    const view = $('.pictures', root), x = box.x + box.width / 2;
    if (x < view.scrollLeft + 200 || x > view.scrollLeft + view.clientWidth - 40) view.scrollLeft = Math.max(0, x - view.clientWidth / 2);
  }
  if (tr) {
    tr.classList.add('on');
    if (scroll) tr.scrollIntoView({block: 'center'});
  }
}

// nearest is the entry of a picture next to a point; 0 if there is none within a finger's width.
function nearest(svg, x, y) {
  let best = 14, n = 0;
  for (const mark of all('[id^=line-]', svg)) {
    const r = mark.getBoundingClientRect();
    const d = Math.hypot(Math.max(r.left - x, 0, x - r.right), Math.max(r.top - y, 0, y - r.bottom));
    if (d < best) { best = d; n = +mark.id.slice(5); }
  }
  return n;
}

let turn = 0, drawn = '';

async function cell(s) {
  const mine = ++turn;
  const root = $('#cell');
  const id = s.get('case'), n = index.cases.findIndex(c => c.id === id);
  const about = index.cases[n];
  let kubelet = s.get('kubelet');
  if (!about) { drawn = ''; root.replaceChildren(el('p', {class: 'note'}, `This report has no case ${id}.`)); return; }
  const ran = index.kubelets.filter((k, i) => about.cells[i]);
  if (!kubelet && ran.length) kubelet = ran[0];
  const repeat = s.get('repeat') || '', other = s.get('with') || '', line = s.get('line') || '';
  const key = [id, kubelet, repeat, other].join('\n');
  if (key === drawn) { select(root, line, false); return; }
  const data = await unpack(n);
  if (mine !== turn) return; // another cell was opened by then
  const of = data.runs.filter(r => r.kubelet === kubelet);
  const run = of.find(r => String(r.repeat || '') === repeat) || of[0];
  if (!run) { drawn = ''; root.replaceChildren(el('p', {class: 'note'}, `Case ${id} did not run on kubelet ${kubelet}.`)); return; }
  const second = other && data.runs.find(r => r.kubelet === other);
  const base = {case: id, kubelet, repeat, with: second ? other : ''};
  const to = (more, text, label) => el('a', {href: link({...base, ...more}), 'aria-label': label || null}, text);
  const at = ran.indexOf(kubelet);

  const crumbs = el('div', {class: 'crumbs'}, el('a', {href: lastCells}, '← all cases'),
    at > 0 ? to({kubelet: ran[at - 1], with: '', repeat: ''}, '‹ ' + ran[at - 1], 'this case on ' + ran[at - 1]) : null,
    at < ran.length - 1 ? to({kubelet: ran[at + 1], with: '', repeat: ''}, ran[at + 1] + ' ›', 'this case on ' + ran[at + 1]) : null);
  const head = el('div', {class: 'cellhead'}, el('h2', {tabindex: -1}, `${id} on ${kubelet}`), el('b', {class: 'tag ' + run.outcome}, run.outcome));
  const rules = el('p', {class: 'soft'}, about.title + ' ', ...(about.rules || []).flatMap(r => [el('a', {href: link({view: 'cases', rule: r})}, r), ' ']));

  const compare = el('select', {id: 'with'}, el('option', {value: ''}, 'none'),
    ...ran.filter(k => k !== kubelet).map(k => el('option', {value: k, selected: !!second && k === other}, `${k}: ${about.cells[index.kubelets.indexOf(k)][0]}`)));
  compare.addEventListener('change', () => { location.hash = link({...base, with: compare.value}); });
  const controls = el('div', {class: 'controls'});
  if (ran.length > 1) controls.append(el('label', {}, 'compare with ', compare));
  if (of.length > 1) {
    const which = el('select', {id: 'repeat'}, ...of.map(r => el('option', {value: r.repeat || '', selected: r === run}, `run ${r.repeat}: ${r.outcome}`)));
    which.addEventListener('change', () => { location.hash = link({...base, repeat: which.value}); });
    controls.append(el('label', {}, 'run ', which));
  }

  const pictures = el('div', {class: 'pictures', tabindex: 0, role: 'group', 'aria-label': 'What was recorded, on an axis of time'});
  const shown = second ? [run, second] : [run];
  for (const r of shown) {
    if (!r.picture) { pictures.append(el('p', {class: 'note'}, `${r.kubelet}: ${r.note}`)); continue; }
    const svg = drawing(r);
    if (r !== run) for (const mark of all('[id^=line-]', svg)) mark.id = 'with-' + mark.id;
    svg.addEventListener('click', e => {
      const hit = r === run && nearest(svg, e.clientX, e.clientY);
      if (hit) location.hash = link({...base, line: hit});
    });
    pictures.append(svg);
  }
  // The names stay in sight where there is room for them beside the axis.
  pictures.addEventListener('scroll', () => {
    const x = pictures.clientWidth > 640 ? pictures.scrollLeft : 0;
    for (const g of all('.names', pictures)) g.setAttribute('transform', `translate(${x} 0)`);
  });

  const columns = el('div', {class: shown.length > 1 ? 'two' : null});
  for (const r of shown) {
    const part = el('section', {'aria-label': r.kubelet});
    if (shown.length > 1) part.append(el('h3', {}, r.kubelet + ' ', el('b', {class: 'tag ' + r.outcome}, r.outcome)));
    part.append(el('pre', {class: 'text'}, r.text.trimEnd()), ...(r.facts || []).map(f => el('p', {class: 'soft'}, f)));
    if (r.lines) {
      part.append(el('h3', {}, 'Lines ', el('span', {class: 'soft'}, `second zero is ${r.zero}`)));
      const table = lines(r, k => link(r === run ? {...base, line: k} : {case: id, kubelet: r.kubelet, repeat: r.repeat || '', with: kubelet, line: k}));
      if (r !== run) for (const tr of all('tr[data-line]', table)) tr.removeAttribute('data-line');
      part.append(table);
    }
    columns.append(part);
  }
  root.replaceChildren(crumbs, head, rules, controls, pictures, columns);
  const fresh = drawn.split('\n').slice(0, 2).join() !== key.split('\n').slice(0, 2).join();
  drawn = key;
  if (fresh) { scrollTo(0, 0); $('h2', root).focus({preventScroll: true}); }
  select(root, line, true);
}

// --- views ---

function show() {
  const s = state();
  const view = s.has('case') ? 'cell' : ['cases', 'changes', 'claims', 'about'].includes(s.get('view')) ? s.get('view') : 'cases';
  for (const section of all('main > section')) section.hidden = section.id !== view;
  for (const a of all('nav a')) {
    if (a.dataset.view === view) a.setAttribute('aria-current', 'page'); else a.removeAttribute('aria-current');
  }
  if (view === 'cases') {
    const f = filters(s);
    lastCells = link({view: 'cases', ...f});
    fill(f);
    filter(f);
  }
  if (view === 'cell') cell(s).catch(e => $('#cell').replaceChildren(el('p', {class: 'note'}, `This cell could not be opened: ${e.message}`)));
  else { turn++; drawn = ''; }
  document.body.dataset.shown = view;
}

addEventListener('hashchange', show);
addEventListener('keydown', e => {
  const typing = e.target.matches('input, select, textarea');
  if (e.key === '/' && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) {
    e.preventDefault();
    if ($('#cases').hidden) location.hash = lastCells;
    setTimeout(() => { form.elements.q.focus(); form.elements.q.select(); });
  }
  if (e.key !== 'Escape') return;
  if (e.target === form.elements.q) {
    form.elements.q.value = '';
    typed();
    form.elements.q.blur();
  } else if ($('#cases').hidden) {
    location.hash = lastCells;
    setTimeout(() => { if (lastCell && !lastCell.closest('tr').hidden) lastCell.focus(); });
  }
});
show();
})();
