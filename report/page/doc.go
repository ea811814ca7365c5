// Package page makes report.html: the report of a run as one file that a browser opens.
//
// [HTML] takes a report and the folder of its traces. The file needs nothing else: its style and
// its program are embedded, and its content policy refuses whatever they would fetch. It shows
//
//   - the matrix of cases by kubelets, with a search and filters by verdict, group, rule and kubelet,
//   - for each cell the picture of what was recorded (package report/picture), the explanation
//     of the verdict, every line with its number, and the commands that judge or run it again,
//   - the same for two kubelets above each other, on one axis,
//   - what changed between neighbouring kubelets, and the claims.
//
// # How it is built
//
// page.gohtml is the page; html/template fills in what is read at once: the matrix, the
// changes and the claims, so that these can be read and printed without any program.
// The rest is data for page.js: the index (cases, rules, reasons) as JSON, and for each case one
// piece of compressed JSON, with the pictures and lines of its runs (data.go). The browser
// unpacks a piece when one of its cells is opened. That keeps 11 kubelets times 162
// cases well below 10 MB and quick to open.
//
// What is shown is in the fragment of the address, as in "#case=hooks/poststart-blocks&kubelet=v1.37.2&line=22", so each
// cell and line, each comparison and each filter has a link.
//
// # How it is tested
//
// The tests open it in a headless Chromium: chromium_test.go says how, and which variables of the environment
// demand one and keep screenshots.
//
// Left out on purpose: any library. What the page needs, browsers have.
//
// Start at [HTML]; page.js starts at its function show.
package page
