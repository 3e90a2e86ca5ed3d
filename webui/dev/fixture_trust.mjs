// Who may do what on the fixture server, and whether it can store what happens.
import { Refusal } from './refusal.mjs';

const ROLES = ['view', 'control', 'admin'];
const AUDIT_ENTRIES = 130;

const stored = { state: 'ok', reason: null, since: null, set_aside: [] };

export class FixtureTrust {
  constructor({ token, role, name }, broadcast, endStreams) {
    this.token = token;
    this.session = { name, role, expires_at: null };
    this.broadcast = broadcast;
    this.endStreams = endStreams;
    this.storage = stored;
    // The newest one, with which each subscription begins.
    this.serverEvent = null;
    this.revoked = false;
    this.usedCodes = new Set();
  }

  accepts(token) {
    return this.token === '' || (token === this.token && !this.revoked);
  }

  // Each code can be used once and starts a new session.
  login({ code }) {
    if (!code?.startsWith('once') || this.usedCodes.has(code)) throw new Refusal(401, 'invalid_code', 'This code was used already.');
    this.usedCodes.add(code);
    this.revoked = false;
    return { token: this.token, ...this.session };
  }

  require(role) {
    if (ROLES.indexOf(this.session.role) < ROLES.indexOf(role)) throw new Refusal(403, 'role_too_low', `This needs the role ${role}.`);
  }

  // Null if the path is not one of these.
  route(method, path, query, body) {
    switch (`${method} ${path}`) {
      case 'GET /session': return { body: this.session };
      case 'DELETE /session':
        this.revoked = true;
        this.endStreams();
        return { status: 204 };
      case 'GET /audit':
        this.require('admin');
        return { body: this.audit(Number(query.get('limit') ?? 100), Number(query.get('cursor') ?? 0)) };
      // Only of the fixture: lets a test change what the server reports.
      case 'POST /fixture/storage':
        this.storage = { ...stored, ...body };
        this.serverEvent = { seq: 0, type: 'server', job: '', storage: this.storage };
        this.broadcast(this.serverEvent);
        return { status: 204 };
      default: return null;
    }
  }

  audit(limit, from) {
    const entry = (i) => ({
      time: new Date(Date.UTC(2026, 0, 2, 12, 0, -i)).toISOString(), who: i % 3 === 0 ? 'alice' : 'owner', role: i % 3 === 0 ? 'control' : 'admin',
      from: '127.0.0.1:51544', action: 'control', job: 'digits-1', detail: `step ${AUDIT_ENTRIES - i}`, result: i === 1 ? 'role_too_low' : 'ok',
    });
    const to = Math.min(from + limit, AUDIT_ENTRIES);
    return { entries: Array.from({ length: to - from }, (_, i) => entry(from + i)), next_cursor: to < AUDIT_ENTRIES ? String(to) : null };
  }

  // Refuses a command while another user controls the job; else takes the control.
  useLease(job) {
    if (job.controller !== null && job.controller.name !== this.session.name) throw new Refusal(409, 'not_controller', `${job.controller.name} controls this job.`);
    this.takeLease(job);
  }

  takeLease(job) {
    if (job.controller?.name === this.session.name) return;
    job.controller = { name: this.session.name, since: new Date().toISOString() };
    job.emit('job', { info: job.info() });
  }

  releaseLease(job) {
    job.controller = null;
    job.emit('job', { info: job.info() });
  }
}
