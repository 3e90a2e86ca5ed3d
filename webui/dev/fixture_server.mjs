// A server for development of the page: the HTTP and WebSocket API, with jobs in memory.
//   node dev/fixture_server.mjs [--port 8090] [--token T] [--blocks N] [--delay MS]
// It serves the page from webui/dist. `npm run dev` forwards API requests to it.
import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { graphIndex } from './fixture_index.mjs';
import { neighbours } from './fixture_neighbours.mjs';
import { FixtureJob } from './fixture_job.mjs';
import { FixtureOverview } from './fixture_overview.mjs';
import { FixtureRun } from './fixture_runs.mjs';
import { tensorRoute } from './fixture_tensors.mjs';
import { statisticsOf } from './fixture_values.mjs';
import { FixtureTrainings } from './fixture_trainings.mjs';
import { FixtureTrust } from './fixture_trust.mjs';
import { Refusal } from './refusal.mjs';
import { acceptWebSocket } from './websocket.mjs';

const { values: flags } = parseArgs({
  options: {
    port: { type: 'string', default: '8090' },
    token: { type: 'string', default: '' },
    blocks: { type: 'string', default: '2' },
    delay: { type: 'string', default: '60' },
    ranks: { type: 'string', default: '1' },
    // cnn, hostile (names), large (100,000 nodes) or model (opened, not run).
    graph: { type: 'string', default: 'cnn' },
    empty: { type: 'boolean', default: false },
    // Acts as a server without a graph index, which returns scopes one by one.
    'no-index': { type: 'boolean', default: false },
    // Number of hits that the first watchpoint produces at once.
    burst: { type: 'string', default: '0' },
    // Number of hits that the job could not send.
    dropped: { type: 'string', default: '0' },
    role: { type: 'string', default: 'admin' },
    name: { type: 'string', default: 'owner' },
    // Who controls the jobs.
    controller: { type: 'string' },
    // The operations that the jobs' owner allows, separated by commas.
    allow: { type: 'string' },
    // The second job is one of MindSpore, and is damaged.
    untrusted: { type: 'boolean', default: false },
    // Of the jobs: jobs (it grows with them), large (500 modules and 1,000 steps), off, or none (as an
    // older server).
    overview: { type: 'string', default: 'jobs' },
    // Attaches to trainings of its machine.
    trainings: { type: 'boolean', default: false },
    // Has two recorded runs, "nightly" and "baseline".
    runs: { type: 'boolean', default: false },
  },
});
const DIST = join(fileURLToPath(import.meta.url), '../../dist');
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.png': 'image/png', '.woff2': 'font/woff2' };
// The same as in server/http/guard.cc.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; " +
  "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const jobs = new Map();
if (!flags.empty) {
  const options = { blocks: Number(flags.blocks), delay: Number(flags.delay), burst: Number(flags.burst), dropped: Number(flags.dropped), ranks: Number(flags.ranks) };
  for (const job of [new FixtureJob('digits-1', 'digits_cnn.py', { ...options, graph: flags.graph }), new FixtureJob('warmup-7', 'warmup.py', options)]) jobs.set(job.id, job);
  for (const job of jobs.values()) job.overview = new FixtureOverview(job, flags.overview);
  Object.assign(jobs.get('warmup-7'), { step: 200, state: 'finished' });
  for (const job of jobs.values()) {
    if (flags.controller !== undefined) job.controller = { name: flags.controller, since: new Date().toISOString() };
    if (flags.allow !== undefined) job.trust.allowed = flags.allow.split(',');
  }
  if (flags.untrusted) jobs.get('warmup-7').trust = { verified: false, damaged: 'the record of step 3 is incomplete' };
}

function scopeView(job, scope) {
  const prefix = scope === '' ? '' : `${scope}/`;
  const children = new Map();
  for (const node of job.graph.nodes) {
    if (!node.name.startsWith(prefix)) continue;
    const rest = node.name.slice(prefix.length);
    const name = prefix + rest.split('/')[0];
    const entry = children.get(name) ?? { below: [] };
    entry.below.push(node);
    children.set(name, entry);
  }
  if (children.size === 0 && scope !== '') throw new Refusal(404, 'unknown_node', `There is no scope "${scope}".`);
  const child = (name) => (name.startsWith(prefix) ? prefix + name.slice(prefix.length).split('/')[0] : null);
  const edges = new Map();
  for (const node of job.graph.nodes) {
    for (const input of node.inputs) {
      const [from, to] = [child(input), child(node.name)];
      if (from === null || to === null || from === to) continue;
      const key = `${from} ${to}`;
      const edge = edges.get(key) ?? { from, to, tensors: 0, kind: 'data' };
      edge.tensors += 1;
      edges.set(key, edge);
    }
  }
  return { scope, nodes: [...children.keys()].map((name) => nodeView(job, name, children.get(name).below)), edges: [...edges.values()] };
}

function nodeView(job, name, below = job.graph.nodes.filter((node) => node.name.startsWith(`${name}/`))) {
  const hits = (of) => job.hits.filter((hit) => of(hit.node)).length;
  const label = name.slice(name.lastIndexOf('/') + 1);
  const own = job.graph.byName.get(name);
  if (own !== undefined) {
    const { kind, op_type, category, outputs, source } = own;
    return { name, label, kind, op_type, category, child_count: 0, descendant_count: 0, outputs, hit_count: hits((n) => n === name), watched: kind === 'op' && job.watched(name) ? 'all' : 'none', source };
  }
  if (below.length === 0) throw new Refusal(404, 'unknown_node', `There is no node "${name}" in this job.`);
  const watched = below.filter((node) => node.kind === 'op' && job.watched(node.name)).length;
  const ops = below.filter((node) => node.kind === 'op').length;
  const direct = new Set(below.map((node) => node.name.slice(name.length + 1).split('/')[0]));
  return {
    name, label, kind: 'scope', op_type: job.graph.classes.get(name) ?? '', category: 'other', child_count: direct.size, descendant_count: below.length,
    outputs: [], hit_count: hits((n) => n.startsWith(`${name}/`)), watched: watched === 0 ? 'none' : watched === ops ? 'all' : 'some', source: null,
  };
}

const endpoint = (node) => ({ node: node.name, slot: 0, dtype: node.outputs[0].dtype, shape: node.outputs[0].shape });

function nodeDetail(job, name) {
  const own = job.graph.byName.get(name);
  if (own === undefined) return { ...nodeView(job, name), graph: 'main', inputs: [], consumers: [], attributes: {}, stack: [] };
  const consumers = job.graph.nodes.filter((node) => node.inputs.includes(name)).map(endpoint);
  const inputs = own.inputs.map((input) => endpoint(job.graph.byName.get(input)));
  return { ...nodeView(job, name), graph: 'main', inputs, consumers, attributes: own.attributes, stack: own.stack, order: own.order, first_step: 1, last_step: 3 };
}

function tensorsOf(job, name) {
  const own = job.graph.byName.get(name);
  if (own === undefined) return { node: name, tensors: [] };
  const row = (role, node, index) => ({ role, index, name: `${node.name}:0`, ...endpoint(node), statistics: job.watched(node.name) && job.step > 0 ? statisticsOf(node, job.step) : null, statistics_step: job.step });
  return { node: name, tensors: [...own.inputs.map((input, i) => row('input', job.graph.byName.get(input), i)), row('output', own, 0)] };
}

function search(job, query) {
  const wanted = (query.get('q') ?? '').toLowerCase();
  const [file, line] = (query.get('source') ?? '').split(':');
  const fromLine = ({ source }) => file === '' || (source && source.file.endsWith(file) && (line === undefined || source.line === Number(line)));
  const limit = Number(query.get('limit') ?? 100);
  const from = Number(query.get('cursor') ?? 0);
  const named = (node) => node.name.toLowerCase().includes(wanted);
  const inCode = ({ source }) => source?.text?.toLowerCase().includes(wanted) === true;
  // Its stacks have one frame each.
  const parts = { names: named, code: (node) => !named(node) && inCode(node) };
  const fits = parts[query.get('in')] ?? ((node) => named(node) || inCode(node));
  const found = job.graph.nodes.filter((node) => fits(node) && fromLine(node));
  const byFrame = (node) => node.source && (file !== '' || !named(node));
  const nodes = found.slice(from, from + limit).map((node) => ({
    ...nodeView(job, node.name),
    ...(byFrame(node) ? { match: node.source } : {}),
  }));
  return { nodes, next_cursor: from + limit < found.length ? String(from + limit) : null };
}

const COMPARISONS = ['min', 'max', 'mean', 'abs_max', 'abs_mean'];
const condition = (id, title, params = []) => ({ id, title, help: '', target: 'tensor', params, backends: ['cpu'] });
const value = { name: 'value', title: 'value', type: 'number', default: null, suggested: null, unit: null, required: true, tested: false, advanced: false };

const CONDITIONS = [
  condition('nan', 'Has NaN'),
  condition('inf', 'Has infinity'),
  condition('overflow', 'Has NaN or infinity'),
  ...COMPARISONS.flatMap((statistic) => [['gt', 'above'], ['lt', 'below']].map(([relation, word]) =>
    condition(`${statistic}_${relation}`, `${statistic.replace('_', ' of ').replace('abs of', 'abs')} ${word}`, [value]),
  )),
];

function hitsPage(job, query) {
  const wanted = ['watchpoint', 'rank', 'step'].filter((key) => query.has(key)).map((key) => [key, Number(query.get(key))]);
  const node = query.get('node');
  const found = job.hits.filter((hit) => wanted.every(([key, v]) => hit[key] === v) && (node === null || hit.node === node));
  const [from, limit] = [Number(query.get('cursor') ?? 0), Number(query.get('limit') ?? 200)];
  return { hits: found.slice(from, from + limit), next_cursor: from + limit < found.length ? String(from + limit) : null };
}

function forget(job) {
  jobs.delete(job.id);
  broadcast({ seq: 0, type: 'job', job: job.id, info: null });
  return { status: 204 };
}

function control(job, body) {
  trust.require(body.command === 'terminate' ? 'admin' : 'control');
  trust.useLease(job);
  if (['finished', 'terminated', 'lost'].includes(job.state)) throw new Refusal(409, 'invalid_state', `The job is ${job.state}; "${body.command}" does not fit.`);
  if (body.command === 'continue_to' && !job.graph.byName.has(body.node)) throw new Refusal(404, 'unknown_node', `There is no node "${body.node}" in this job.`);
  if (job.state === 'running' && !['pause', 'terminate'].includes(body.command)) throw new Refusal(409, 'invalid_state', 'The job is running; pause it first.');
  return { status: 202, body: { command_id: job.control(body.command, body) } };
}

function change(job, body) {
  if (job.state !== 'paused') throw new Refusal(409, 'not_paused', 'the job is not paused');
  if (body.change === 'restore_step') throw new Refusal(409, 'cannot_change', 'there are no copies of the step: capture: {tape: whole_step} keeps them');
  const ranks = body.rank === undefined ? job.info().ranks.map(({ rank }) => rank) : [body.rank];
  const texts = { learning_rate: `learning rate 0.01 -> ${body.value}`, skip_step: 'the next step is skipped: its gradients are not applied' };
  const text = texts[body.change] ?? `${body.name} ${body.slice ?? ''}: ${body.values?.length} elements set`;
  return { changes: ranks.map((rank) => ({ rank, text })) };
}

function watchpointSpec(body) {
  const known = CONDITIONS.find((condition) => condition.id === body.condition?.id);
  if (known === undefined) throw new Refusal(422, 'unknown_condition', 'There is no such condition.', 'condition.id');
  for (const param of known.params) {
    if (typeof body.condition.params[param.name] !== 'number') throw new Refusal(422, 'missing_parameter', `"${param.name}" must be a number.`, `condition.params.${param.name}`);
  }
  return { nodes: [], scopes: [], patterns: [], categories: [], pause: 'node', enabled: true, ...body };
}

function jobRoute(job, method, rest, query, body, headers) {
  const watchpoint = /^watchpoints\/(\d+)$/.exec(rest);
  if (watchpoint) {
    const id = Number(watchpoint[1]);
    if (!job.watchpoints.has(id)) throw new Refusal(404, 'unknown_watchpoint', `There is no watchpoint ${id}.`);
    if (method === 'PATCH') return { body: job.changeWatchpoint(id, body) };
    if (method === 'DELETE') return { status: 204, body: job.removeWatchpoint(id) };
    return { body: job.watchpoints.get(id) };
  }
  switch (`${method} ${rest}`) {
    case 'GET ': return { body: job.info() };
    case 'DELETE ':
      trust.require('admin');
      return forget(job);
    case 'POST lease': return { status: 204, body: trust.takeLease(job) };
    case 'DELETE lease': return { status: 204, body: trust.releaseLease(job) };
    case 'POST control': return control(job, body);
    case 'POST change':
      trust.require('admin');
      return { body: change(job, body) };
    case 'GET graphs': return { body: { graphs: [{ id: 'main', node_count: job.graph.nodes.length, edge_count: 0 }] } };
    case 'GET graph/index':
      if (flags['no-index']) throw new Refusal(404, 'not_found', 'There is no such route.');
      return { bytes: graphIndex(job.graph), headers: { 'Content-Encoding': 'gzip', ETag: `"${job.graph.nodes.length}"` } };
    case 'GET graph/neighbours': {
      const name = query.get('name') ?? '';
      if (!job.graph.byName.has(name)) throw new Refusal(404, 'unknown_node', `There is no node "${name}" in this job.`);
      return { body: neighbours(job, name, Number(query.get('depth') ?? 1), nodeView, statisticsOf) };
    }
    case 'GET graph/scope': return { body: scopeView(job, query.get('name') ?? '') };
    case 'GET graph/node': return { body: nodeDetail(job, query.get('name') ?? '') };
    case 'GET graph/export': return { body: { nodes: job.graph.nodes } };
    case 'GET graph/source': throw new Refusal(404, 'unknown_file', 'This job has sent no files.');
    case 'GET graph/search': return { body: search(job, query) };
    case 'GET watchpoints': return { body: { watchpoints: [...job.watchpoints.values()] } };
    case 'POST watchpoints':
      trust.require('control');
      return { status: 201, body: job.addWatchpoint(watchpointSpec(body)) };
    case 'GET hits': return { body: hitsPage(job, query) };
    case 'POST watchpoints/preview': return { body: { node_count: job.countNodes(body) } };
    case 'POST watchpoints/recommended': return { status: 201, body: job.addRecommended() };
    case 'GET tensors': return { body: tensorsOf(job, query.get('node') ?? '') };
    default: {
      const answer = job.overview?.route(`${method} ${rest}`, query) ?? tensorRoute(job, `${method} ${rest}`, query, headers);
      if (answer === null) throw new Refusal(404, 'not_found', 'There is no such route.');
      return answer;
    }
  }
}

const runs = new Map();
if (flags.runs) for (const id of ['nightly', 'baseline']) runs.set(id, new FixtureRun(id, new FixtureJob(id, id), jobRoute));

function route(method, path, query, body, headers) {
  if (path === '/server') return { body: { name: 'graphdbg', version: '0.1.0', http_address: `127.0.0.1:${flags.port}`, debugger_address: '127.0.0.1:50051', attaches: flags.trainings, storage: trust.storage } };
  const answer = trust.route(method, path, query, body) ?? (flags.trainings ? trainings.route(method, path) : null);
  if (answer !== null) return answer;
  if (path === '/conditions') return { body: { conditions: CONDITIONS, measures: [] } };
  if (/^\/conditions\/[^/]+\/advice$/.test(path)) {
    return { body: { causes: ['The loss diverged.'], next: ['Look at the inputs.'] } };
  }
  if (path === '/jobs') return { body: { jobs: [...jobs.values()].map((job) => job.info()) } };
  if (path === '/runs') return { body: { runs: [...runs.values()].map((run) => run.info()) } };
  const ofRun = /^\/runs\/([^/]+)\/?(.*)$/.exec(path);
  if (ofRun) {
    const run = runs.get(decodeURIComponent(ofRun[1]));
    if (run === undefined) throw new Refusal(404, 'unknown_run', `There is no recorded run "${ofRun[1]}".`);
    return run.route(method, ofRun[2], query, body, headers);
  }
  const match = /^\/jobs\/([^/]+)\/?(.*)$/.exec(path);
  if (!match) throw new Refusal(404, 'not_found', 'There is no such route.');
  const job = jobs.get(decodeURIComponent(match[1]));
  if (job === undefined) throw new Refusal(404, 'unknown_job', `There is no job "${match[1]}".`);
  return jobRoute(job, method, match[2], query, body, headers);
}

async function readBody(request) {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text === '' ? {} : JSON.parse(text);
}

function sendJson(response, status, body, type = 'application/json') {
  response.writeHead(status, { 'Content-Type': type });
  response.end(body === undefined ? '' : JSON.stringify(body));
}

async function answerApi(request, response, url) {
  const path = url.pathname.slice('/api/v1'.length);
  try {
    const body = await readBody(request);
    if (path === '/login') return sendJson(response, 200, trust.login(body));
    if (!trust.accepts(request.headers.authorization?.replace('Bearer ', ''))) throw new Refusal(401, 'unauthorized', 'A valid token is needed.');
    const answer = route(request.method, path, url.searchParams, body, request.headers);
    if (answer.bytes !== undefined) {
      response.writeHead(200, { 'Content-Type': 'application/octet-stream', ...answer.headers });
      return response.end(answer.bytes);
    }
    return sendJson(response, answer.status ?? 200, answer.body);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const problem = { type: 'about:blank', title: error.code.replaceAll('_', ' '), status: error.status, detail: error.message, code: error.code, field: error.field };
    return sendJson(response, error.status, problem, 'application/problem+json');
  }
}

function answerFile(response, path) {
  const file = join(DIST, normalize(path === '/' ? '/index.html' : path));
  if (!file.startsWith(DIST) || !existsSync(file) || !statSync(file).isFile()) return sendJson(response, 404, {});
  response.writeHead(200, { 'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream', 'Content-Security-Policy': POLICY, 'X-Content-Type-Options': 'nosniff' });
  return createReadStream(file).pipe(response);
}

const allListeners = new Set();

function broadcast(event) {
  for (const listener of allListeners) listener(event);
}

const channels = new Set();
const trust = new FixtureTrust(flags, (event) => {
  broadcast(event);
  for (const job of jobs.values()) for (const listener of job.listeners) listener(event);
}, () => {
  for (const channel of channels) channel.close();
});

const trainings = new FixtureTrainings(trust, jobs);

for (const job of jobs.values()) job.listeners.add((event) => (event.type === 'state' || event.type === 'job') && broadcast(event));

function subscribe(channel, { job: id, after }) {
  if (id === '*') {
    const listener = (event) => channel.send(event);
    allListeners.add(listener);
    return () => allListeners.delete(listener);
  }
  const job = jobs.get(id);
  if (job === undefined) return () => {};
  const listener = (event) => channel.send(event);
  if (after === undefined) channel.send(job.snapshot());
  else for (const event of job.events.slice(after)) channel.send(event);
  job.listeners.add(listener);
  return () => job.listeners.delete(listener);
}

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname.startsWith('/api/v1/')) void answerApi(request, response, url);
  else answerFile(response, url.pathname);
});

server.on('upgrade', (request, socket) => {
  let unsubscribe = () => {};
  let known = trust.accepts(null);
  const channel = acceptWebSocket(
    request,
    socket,
    (text) => {
      const message = JSON.parse(text);
      if ('token' in message) {
        known ||= trust.accepts(message.token);
        if (known) channel.send({ type: 'ready' });
        else channel.close();
      } else if (known && message.subscribe) {
        unsubscribe();
        unsubscribe = subscribe(channel, message.subscribe);
        if (trust.serverEvent !== null) channel.send(trust.serverEvent);
      }
    },
    () => {
      channels.delete(channel);
      unsubscribe();
    },
  );
  channels.add(channel);
});

server.listen(Number(flags.port), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
