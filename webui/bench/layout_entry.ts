// What the benchmark of the layout needs of the page's sources.
export { readColumns } from '../src/index/columns';
export { buildIndex, GraphIndex } from '../src/index/graph_index';
export { layoutFlat } from '../src/graph/flat';
