// Exports for the layout benchmark.
export { readColumns } from '../src/index/columns';
export { buildIndex, GraphIndex } from '../src/index/graph_index';
export { layoutFlat } from '../src/graph/flat';
