// Loaded when a catalog file is read or written. The package itself can't be imported then: its build for Node has no named exports.
export { isMap, isScalar, isSeq, LineCounter, parseDocument, stringify, visit } from "yaml";
