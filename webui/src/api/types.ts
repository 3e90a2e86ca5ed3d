// The HTTP API's values, as the server sends them.

import type { Elements } from '../base/elements';
import type { Num } from '../base/numbers';

export type JobState =
  | 'connecting'
  | 'paused'
  | 'running'
  | 'pausing'
  | 'finished'
  | 'terminated'
  | 'lost';

export type PauseReason = 'start' | 'step' | 'node' | 'watchpoint' | 'user' | 'error';

export interface Rank {
  rank: number;
  host: string;
  pid: number;
  peer: string;
  device: string;
  device_id: number;
  state: JobState;
  step: number;
  node: string;
}

export interface JobException {
  type: string;
  message: string;
  traceback: string;
  node: string | null;
}

export interface Job {
  id: string;
  name: string;
  framework: string;
  framework_version: string;
  state: JobState;
  pause_reason: PauseReason | null;
  step: number;
  // Empty at a step's end.
  node: string | null;
  world_size: number;
  created_at: string;
  ranks: Rank[];
  hit_count: number;
  // Of those, so many can be asked for.
  kept_hit_count: number;
  // Besides those, so many were met and did not come.
  dropped_hit_count: number;
  recommended_offered: boolean;
  stopped_by?: number[];
  // Set or changed since the job stopped: what a recheck would check.
  unchecked_watchpoints?: number[];
  // What its backend cannot do, and why.
  unsupported_commands?: Partial<Record<ControlCommand, string>>;
  exit_code?: number | null;
  exception?: JobException | null;
}

export interface SourceLine {
  file: string;
  line: number;
  text?: string;
  function?: string;
  user?: boolean;
}

export type NodeKind =
  | 'scope'
  | 'op'
  | 'parameter'
  | 'buffer'
  | 'constant'
  | 'input'
  | 'aggregate';

export type Category = 'weight' | 'gradient' | 'activation' | 'optimizer' | 'other';

export interface TensorType {
  dtype: string;
  shape: number[];
}

export interface Output extends TensorType {
  slot: number;
}

export interface GraphNode {
  name: string;
  label: string;
  kind: NodeKind;
  op_type: string;
  category: Category;
  child_count: number;
  descendant_count: number;
  outputs: Output[];
  hit_count: number;
  watched: 'all' | 'some' | 'none';
  // 0: it has not executed.
  first_step?: number;
  last_step?: number;
  source: SourceLine | null;
  // What is written where its edges begin, by output.
  notes?: EdgeNote[];
}

export interface EdgeNote {
  text: string;
  alarm: boolean;
}

export interface Endpoint extends TensorType {
  node: string;
  slot: number;
}

export interface NodeDetail extends GraphNode {
  // Id of the graph that it lies in.
  graph: string;
  inputs: Endpoint[];
  consumers: Endpoint[];
  attributes: Record<string, unknown>;
  stack: SourceLine[];
}

export interface GraphEdge {
  from: string;
  to: string;
  tensors: number;
  kind: 'data' | 'control';
}

export interface ScopeView {
  scope: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
}

export interface TensorEdge {
  from: string;
  slot: number;
  to: string;
  position: number;
  kind: 'data' | 'control';
}

// Around a tensor: `distance` is below 0 for what it is made of.
export interface Neighbours {
  nodes: Array<GraphNode & { distance: number }>;
  edges: TensorEdge[];
  tensors: Array<{ name: string; statistics: Statistics | null; statistics_step: number | null }>;
  truncated: boolean;
}

export interface GraphSummary {
  id: string;
  node_count: number;
  edge_count: number;
}

export interface SearchPage {
  nodes: GraphNode[];
  next_cursor: string | null;
}

// A number, a truth, or an expression.
export type ParamValue = Num | boolean | string;

export interface ConditionParam {
  name: string;
  // In words, without the relation that ends the name of what is tested.
  title: string;
  type: 'number' | 'bool' | 'expression';
  default: Num | boolean | null;
  // A value to begin with, where there is no default.
  suggested: Num | null;
  unit: string | null;
  required: boolean;
  // Of these at least one has to be given.
  tested: boolean;
  advanced: boolean;
  min?: Num | null;
  max?: Num | null;
  // Above `min`, not equal to it.
  above_min?: boolean;
}

export interface Condition {
  id: string;
  title: string;
  help: string;
  target: 'tensor' | 'weight' | 'gradient' | 'activation';
  params: ConditionParam[];
  backends: string[];
}

// A name that expressions may use.
export interface Measure {
  name: string;
  title: string;
}

export interface Conditions {
  conditions: Condition[];
  measures: Measure[];
}

export type PauseMode = 'node' | 'step' | 'none';

export interface WatchpointSpec {
  condition: { id: string; params: Record<string, ParamValue> };
  nodes: string[];
  scopes: string[];
  patterns: string[];
  categories: Category[];
  pause: PauseMode;
  enabled: boolean;
}

// What a watchpoint covers, which hangs on what its condition is about too.
export type WatchpointSelection = Pick<WatchpointSpec, 'nodes' | 'scopes' | 'patterns' | 'categories'> & {
  condition: { id: string };
};

export interface Watchpoint extends WatchpointSpec {
  id: number;
  node_count: number;
  hit_count: number;
  error: string | null;
}

export interface Statistics {
  count: number;
  nan_count: number;
  pos_inf_count: number;
  neg_inf_count: number;
  zero_count: number;
  negative_count: number;
  positive_count: number;
  min: Num | null;
  max: Num | null;
  mean: Num | null;
  abs_mean: Num | null;
  abs_max: Num | null;
  variance: Num | null;
  l1: Num | null;
  l2: Num | null;
}

export interface Hit {
  id: number;
  watchpoint: number;
  rank: number;
  step: number;
  node: string;
  slot: number;
  op_type: string;
  order: number;
  condition: string;
  params: Record<string, ParamValue>;
  actual: Record<string, Num>;
  statistics: Statistics | null;
  origin: 'origin' | 'propagated' | 'unknown';
  source: SourceLine | null;
  error: string | null;
  time: string;
}

export interface TensorSummary extends TensorType {
  role: 'input' | 'output';
  index: number;
  name: string;
  node: string;
  slot: number;
  statistics: Statistics | null;
  statistics_step: number | null;
}

// A slice of a tensor as it came, in binary.
export interface TensorSlice {
  name: string;
  step: number;
  slice: string;
  // Of the slice.
  shape: number[];
  overwritten: boolean;
  grad_scale: number | null;
  dtype: string;
  // Null: of a type that the page cannot read.
  elements: Elements | null;
  // The page has turned it around.
  transposed?: boolean;
  // When its last byte had come, in ms since navigation.
  received_at: number;
}

export interface TensorStatistics extends TensorType {
  name: string;
  rank: number;
  step: number;
  overwritten?: boolean;
  grad_scale?: number | null;
  statistics: Statistics;
}

export interface Histogram extends TensorType {
  step: number;
  // One more than there are counts.
  edges: Num[];
  counts: number[];
  nan_count: number;
  pos_inf_count: number;
  neg_inf_count: number;
}

export interface TensorHistory extends TensorType {
  name: string;
  rank: number;
  points: Array<{ step: number; statistics: Statistics }>;
}

export interface ComparedTensor extends TensorType {
  name: string;
  rank: number;
  step: number;
  overwritten: boolean;
}

export interface Comparison {
  left: ComparedTensor;
  right: ComparedTensor;
  count: number;
  all_close: boolean;
  not_close_count: number;
  non_finite_count: number;
  max_abs_difference: Num | null;
  mean_abs_difference: Num | null;
  max_relative_difference: Num | null;
  cosine: Num | null;
  first_not_close: { index: number[]; left: Num; right: Num } | null;
}

export interface HitsPage {
  hits: Hit[];
  next_cursor: string | null;
}

export interface ServerInfo {
  name: string;
  version: string;
  http_address: string;
  debugger_address: string;
}

export type ControlCommand =
  | 'continue'
  | 'step'
  | 'next_node'
  | 'continue_to'
  | 'pause'
  | 'terminate'
  | 'recheck';

// A command that was accepted.
export interface CommandOrder {
  command: ControlCommand;
  steps: number | null;
  node: string | null;
  // Null: all.
  rank: number | null;
  // What gave it, "browser" for all browsers, and from where.
  client: string;
  peer: string;
}

interface EventBase {
  seq: number;
  job: string;
  rank?: number;
  time?: string;
}

export type ServerEvent =
  | (EventBase & {
      type: 'job' | 'state';
      info: Job | null;
      command_id?: string | null;
      error?: string | { detail?: string; code?: string } | null;
    })
  | (EventBase & { type: 'graph'; node_count: number })
  | (EventBase & { type: 'hit'; hit: Hit })
  | (EventBase & { type: 'watchpoint'; watchpoint: Watchpoint | null; id?: number })
  | (EventBase & { type: 'log'; level: string; message: string })
  | (EventBase & { type: 'command'; command_id: string; command: CommandOrder })
  | (EventBase & { type: 'tensor' })
  | (EventBase & {
      type: 'snapshot';
      info: Job | null;
      watchpoints: Watchpoint[];
      hits: Hit[];
    });
