// Made from proto/http/openapi.yaml by tools/dev types: do not edit.

/* oxlint-disable */

export type Category = "weight" | "gradient" | "activation" | "optimizer" | "other";

export type ComparedTensor = TensorHead & {
  overwritten: boolean;
};

export type Comparison = {
  left: ComparedTensor;
  right: ComparedTensor;
  slice: string;
  slice_shape: Shape;
  rtol: number;
  atol: number;
  count: number;
  all_close: boolean;
  not_close_count: number;
  non_finite_count: number;
  max_abs_difference: NullableNumber;
  mean_abs_difference: NullableNumber;
  max_relative_difference: NullableNumber;
  cosine: NullableNumber;
  first_not_close: ({
    index: number[];
    left: Number;
    right: Number;
  } | null);
};

export type Condition = {
  id: string;
  title: string;
  help: string;
  target: ("tensor" | "weight" | "gradient" | "activation");
  nan_policy: string;
  backends: (("cpu" | "cuda" | "ascend"))[];
  wire_condition?: number;
  params: ({
    name: string;
    title: string;
    type: ("number" | "bool" | "expression");
    default: (NullableNumber | boolean);
    suggested: NullableNumber;
    unit: ("percent" | null);
    required: boolean;
    tested: boolean;
    advanced: boolean;
    min: NullableNumber;
    max: NullableNumber;
    above_min: boolean;
  })[];
};

export type ConditionInstance = {
  id: string;
  params?: Params;
};

export type Control = {
  command: ("continue" | "step" | "next_node" | "continue_to" | "pause" | "terminate" | "recheck");
  steps?: number;
  node?: string;
  pending?: boolean;
  rank?: number;
};

export type Edge = {
  from: string;
  to: string;
  tensors: number;
  kind: ("data" | "control");
};

export type Endpoint = Output & {
  node: string;
};

export type Event = {
  seq: number;
  type: ("snapshot" | "job" | "state" | "graph" | "hit" | "tensor" | "watchpoint" | "log" | "command");
  job: string;
  rank?: number;
  time?: string;
  info?: (Job | null);
  command_id?: (string | null);
  error?: (string | null);
  command?: {
    command: ("continue" | "step" | "next_node" | "continue_to" | "pause" | "terminate" | "recheck");
    steps: (number | null);
    node: (string | null);
    rank: (number | null);
    client: string;
    peer: string;
  };
  node_count?: number;
  hit?: Hit;
  watchpoint?: (Watchpoint | null);
  id?: number;
  level?: ("info" | "warning" | "error");
  message?: string;
  watchpoints?: Watchpoint[];
  hits?: Hit[];
};

export type Exception = {
  type: string;
  message: string;
  traceback: string;
  node: (string | null);
};

export type Frame = Source & {
  user: boolean;
};

export type GradScale = number | null;

export type Graph = {
  id: string;
  node_count: number;
  edge_count: number;
};

export type GraphExport = {
  format: "graphdbg.graph";
  version: 1;
  job: string;
  graph: string;
  nodes: {
    name: string;
    kind: NodeKind;
    op_type: string;
    category: Category;
    outputs: Output[];
    attributes: {
      [name: string]: string;
    };
    source: NullableSource;
    order: number;
    first_step: number;
    last_step: number;
  }[];
  edges: TensorEdge[];
};

export type Histogram = TensorHead & {
  overwritten: boolean;
  slice: string;
  slice_shape: Shape;
  edges: Number[];
  counts: number[];
  nan_count: number;
  pos_inf_count: number;
  neg_inf_count: number;
};

export type Hit = {
  id: number;
  watchpoint: number;
  rank: number;
  step: number;
  node: string;
  slot: number;
  op_type: string;
  order: number;
  condition: string;
  params: Params;
  actual: Numbers;
  statistics: (Statistics | null);
  dtype: string;
  shape: Shape;
  origin: ("origin" | "propagated" | "unknown");
  source: NullableSource;
  error: (string | null);
  time: string;
};

export type Job = {
  id: string;
  name: string;
  framework: string;
  framework_version: string;
  state: JobState;
  pause_reason: ("start" | "step" | "node" | "watchpoint" | "user" | "error" | null);
  step: number;
  node: string;
  world_size: number;
  created_at: string;
  ranks: Rank[];
  hit_count: number;
  kept_hit_count: number;
  dropped_hit_count: number;
  recommended_offered: boolean;
  stopped_by: number[];
  unchecked_watchpoints: number[];
  unsupported_commands: {
    [name: string]: string;
  };
  exit_code: (number | null);
  exception: (Exception | null);
};

export type JobState = "connecting" | "paused" | "running" | "pausing" | "finished" | "terminated" | "lost";

export type NamedTensor = Endpoint & {
  name: string;
};

export type Neighbours = {
  tensor: NamedTensor;
  nodes: (Node & {
    distance: number;
  })[];
  edges: TensorEdge[];
  tensors: (NamedTensor & {
    statistics: (Statistics | null);
    statistics_step: (number | null);
    hit_count: number;
    hits: Hit[];
  })[];
  truncated: boolean;
};

export type Nested = Number | boolean | Nested[];

export type Node = {
  name: string;
  label: string;
  kind: NodeKind;
  op_type: string;
  category: Category;
  child_count: number;
  descendant_count: number;
  outputs: Output[];
  hit_count: number;
  watched: ("all" | "some" | "none");
  source: NullableSource;
  order: number;
  first_step: number;
  last_step: number;
};

export type NodeDetail = Node & {
  graph: string;
  inputs: Endpoint[];
  consumers: Endpoint[];
  attributes: {
    [name: string]: string;
  };
  stack: Frame[];
};

export type NodeKind = "scope" | "op" | "parameter" | "buffer" | "constant" | "input" | "aggregate";

export type NullableNumber = Number | null;

export type NullableSource = Source | null;

export type Number = (number | ("NaN" | "Infinity" | "-Infinity"));

export type Numbers = {
  [name: string]: Number;
};

export type Output = {
  slot: number;
  dtype: string;
  shape: Shape;
};

export type Params = {
  [name: string]: (Number | boolean | string);
};

export type Problem = {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  field?: string;
  column?: number;
};

export type Rank = {
  rank: number;
  host: string;
  pid: number;
  peer: string;
  device: string;
  device_id: number;
  state: JobState;
  step: number;
  node: string;
};

export type Scope = {
  scope: string;
  nodes: Node[];
  edges: Edge[];
};

export type Server = {
  name: "graphdbg";
  version: string;
  http_address: string;
  debugger_address: string;
};

export type Shape = number[];

export type Source = {
  file: string;
  line: number;
  text: string;
  function: string;
};

export type Statistics = {
  count: number;
  nan_count: number;
  pos_inf_count: number;
  neg_inf_count: number;
  zero_count: number;
  negative_count: number;
  positive_count: number;
  min: NullableNumber;
  max: NullableNumber;
  mean: NullableNumber;
  abs_mean: NullableNumber;
  abs_max: NullableNumber;
  variance: NullableNumber;
  l1: NullableNumber;
  l2: NullableNumber;
};

export type Tensor = TensorHead & {
  slice: string;
  slice_shape: Shape;
  overwritten: boolean;
  grad_scale: GradScale;
  data: Nested;
  statistics?: Statistics;
};

export type TensorEdge = {
  from: string;
  slot: number;
  to: string;
  position: number;
  kind: ("data" | "control");
};

export type TensorHead = {
  name: string;
  node: string;
  slot: number;
  rank: number;
  step: number;
  dtype: string;
  shape: Shape;
};

export type TensorHistory = NamedTensor & {
  rank: number;
  points: {
    step: number;
    statistics: Statistics;
  }[];
};

export type TensorSummary = {
  role: ("input" | "output");
  index: number;
  name: string;
  node: string;
  slot: number;
  dtype: string;
  shape: Shape;
  statistics: (Statistics | null);
  statistics_step: (number | null);
};

export type Watchpoint = WatchpointFields & {
  id: number;
  condition: {
    id: string;
    params: Params;
  };
  node_count: number;
  hit_count: number;
  error: (string | null);
} & Required<Pick<WatchpointFields, ("categories" | "enabled" | "nodes" | "patterns" | "pause" | "scopes")>>;

export type WatchpointFields = {
  condition?: ConditionInstance;
  nodes?: string[];
  scopes?: string[];
  patterns?: string[];
  categories?: Category[];
  pause?: ("node" | "step" | "none");
  enabled?: boolean;
};
