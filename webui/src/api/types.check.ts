// The types of types.ts are those of the server's description: what the server
// sends (the first of each pair) is what the page takes for it. Checked by the
// compiler; there is nothing to run.

import type * as sent from './openapi';
import type * as taken from './types';

type Takes<Sent extends Taken, Taken> = [Sent, Taken];

export type Checked = [
  Takes<sent.Job, taken.Job>,
  Takes<sent.Graph, taken.GraphSummary>,
  Takes<sent.Node, taken.GraphNode>,
  Takes<sent.NodeDetail, taken.NodeDetail>,
  Takes<sent.Scope, taken.ScopeView>,
  Takes<sent.Condition, taken.Condition>,
  Takes<sent.Watchpoint, taken.Watchpoint>,
  Takes<sent.Hit, taken.Hit>,
  Takes<sent.Statistics, taken.Statistics>,
  Takes<sent.TensorSummary, taken.TensorSummary>,
  Takes<sent.Histogram, taken.Histogram>,
  Takes<sent.TensorHistory, taken.TensorHistory>,
  Takes<sent.Comparison, taken.Comparison>,
  Takes<sent.Server, taken.ServerInfo>,
];
