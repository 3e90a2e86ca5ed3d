// Sample values of the API for tests.

import { splitRelation } from '../state/condition_text';
import type {
  Condition,
  ConditionParam,
  Diagnosis,
  GraphNode,
  Hit,
  Incident,
  Job,
  ScopeView,
  Statistics,
  Watchpoint,
} from '../api/types';
import { labelOf } from '../base/names';

export function sampleJob(change: Partial<Job> = {}): Job {
  return {
    id: 'j',
    name: 'train.py',
    framework: 'pytorch',
    framework_version: '2.13.0',
    state: 'paused',
    pause_reason: 'start',
    step: 0,
    node: '',
    world_size: 1,
    created_at: '2026-01-01T00:00:00Z',
    ranks: [
      {
        rank: 0,
        host: 'node7',
        pid: 4242,
        peer: '127.0.0.1:5000',
        device: 'cpu',
        device_id: 0,
        state: 'paused',
        step: 0,
        node: '',
      },
    ],
    hit_count: 0,
    absorbed_hit_count: 0,
    kept_hit_count: 0,
    dropped_hit_count: 0,
    recommended_offered: false,
    stopped_by: [],
    unchecked_watchpoints: [],
    unsupported_commands: {},
    exit_code: null,
    exception: null,
    controller: null,
    ...change,
  };
}

export function sampleHit(change: Partial<Hit> = {}): Hit {
  return {
    id: 1,
    watchpoint: 1,
    rank: 0,
    step: 1,
    node: 'forward/log',
    slot: 0,
    op_type: 'aten::log',
    order: 10,
    condition: 'inf',
    params: {},
    actual: { inf_count: 3 },
    statistics: null,
    dtype: 'float32',
    shape: [2, 3],
    inputs: [],
    origin: 'origin',
    absorbed: false,
    source: null,
    error: null,
    message: null,
    sent_by: null,
    time: '2026-01-01T00:00:00Z',
    ...change,
  };
}

export function sampleDiagnosis(change: Partial<Diagnosis> = {}): Diagnosis {
  return {
    hit: 1,
    rule: 'overflow',
    title: 'Overflow in float16',
    text: 'Input reaches 12,032; × 8 = 96,256 > 65,504.',
    evidence: [{ label: 'Input over steps', view: 'history', node: 'forward/h', slot: 2, step: 1, rank: 1 }],
    causes: [],
    next: ['Compute it in bfloat16.'],
    ...change,
  };
}

interface IncidentChange extends Partial<Omit<Incident, 'diagnosis'>> {
  diagnosis?: Partial<Diagnosis>;
}

export function sampleIncident(origin: Partial<Hit> = {}, { diagnosis, ...change }: IncidentChange = {}): Incident {
  const hit = sampleHit(origin);
  return {
    id: hit.id,
    origin: hit,
    diagnosis: sampleDiagnosis({ hit: hit.id, ...diagnosis }),
    conditions: [hit.condition],
    first_rank: hit.rank,
    ranks: [hit.rank],
    hit_count: 2,
    reached_count: 0,
    first_reached: null,
    steps: [{ first: 1, last: 3 }],
    ...change,
  };
}

export function sampleWatchpoint(change: Partial<Watchpoint> = {}): Watchpoint {
  return {
    id: 1,
    condition: { id: 'nan', params: {} },
    nodes: [],
    scopes: [],
    patterns: [],
    regexes: [],
    categories: [],
    op_types: [],
    sources: [],
    dtypes: [],
    ranks: [],
    exclude: {},
    pause: 'node',
    enabled: true,
    once: false,
    ignore_count: 0,
    muted_until_step: 0,
    group: null,
    actions: [],
    node_count: 5,
    hit_count: 0,
    error: null,
    ...change,
  };
}

export function sampleNode(name: string, change: Partial<GraphNode> = {}): GraphNode {
  return {
    name,
    label: labelOf(name),
    kind: 'op',
    op_type: '',
    category: 'activation',
    child_count: 0,
    descendant_count: 0,
    outputs: [{ slot: 0, dtype: 'float32', shape: [2, 3] }],
    hit_count: 0,
    watched: 'none',
    source: null,
    ...change,
  };
}

export function sampleScope(name: string, children: number): GraphNode {
  return sampleNode(name, {
    kind: 'scope',
    child_count: children,
    descendant_count: children,
    outputs: [],
  });
}

// Creates a view with edges given by label as "from>to".
export function sampleView(scope: string, nodes: GraphNode[], edges: string[] = []): ScopeView {
  const full = (label: string) => (scope === '' ? label : `${scope}/${label}`);
  return {
    scope,
    nodes,
    edges: edges.map((text) => {
      const [from = '', to = ''] = text.split('>');
      return { from: full(from), to: full(to), tensors: 1, kind: 'data' };
    }),
  };
}

export function sampleParam(name: string, changes: Partial<ConditionParam> = {}): ConditionParam {
  return {
    name,
    title: splitRelation(name)?.measure ?? name,
    type: 'number',
    default: null,
    suggested: null,
    unit: null,
    required: false,
    tested: false,
    advanced: false,
    min: null,
    max: null,
    above_min: false,
    ...changes,
  };
}

export function sampleCondition(changes: Partial<Condition> & { id: string }): Condition {
  const advice = { causes: [], next: [] };
  return { title: '', help: '', target: 'tensor', params: [], nan_policy: '', backends: ['cpu'], advice, ...changes };
}

export function sampleStatistics(change: Partial<Statistics> = {}): Statistics {
  const counts = { count: 8, nan_count: 0, pos_inf_count: 0, neg_inf_count: 0, zero_count: 0, negative_count: 0, positive_count: 8 };
  return { ...counts, min: 1, max: 2, mean: 1.5, abs_mean: 1.5, abs_max: 2, variance: 0.1, l1: 12, l2: 4, ...change };
}
