import { Sequence } from '../base/sequence';

// Ids of the layout requests to the worker. The whole graph and the neighbourhood share them,
// since both receive all of the worker's answers.
export const layoutIds = new Sequence();
