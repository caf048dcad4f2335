// Package state has the types of what the console shows: one struct for each view, shared by the nodes that answer for
// themselves, the node that merges their answers, and the page. The page's own description of them,
// node/console/page/js/types.js, is generated from here, and a test holds the two equal. Nothing is computed here.
package state
