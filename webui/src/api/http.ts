// Sends HTTP requests to the server and turns failures into problems.

import { decodeElements } from '../base/elements';
import { earlyServerRequest } from './early';
import { isProblem, problemFrom, unreachable } from './problem';
import { tokenStore } from './token';
import type { TensorSlice } from './types';

const BASE = '/api/v1';

export type Query = Record<string, string | number | null | undefined>;

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  query?: Query;
  body?: unknown;
  // Bytes to send instead of a JSON body.
  file?: Blob;
  signal?: AbortSignal | undefined;
}

export interface Floats {
  rows: number;
  columns: number;
  step: number;
  // By row, then column.
  values: Float32Array;
}

// A picture of a tensor in blocks of elements.
export interface TensorMap {
  step: number;
  // Rows and columns of elements, of the elements of a block, and of blocks.
  grid: readonly [number, number];
  block: readonly [number, number];
  blocks: readonly [number, number];
  // By block, row by row. The number with the largest magnitude, or NaN if there is one.
  extreme: Float32Array;
  // Of the finite elements; NaN if there are none.
  min: Float32Array;
  max: Float32Array;
  mean: Float32Array;
  non_finite: Float32Array;
}

function urlOf(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) search.set(key, String(value));
  }
  const text = search.toString();
  return text === '' ? BASE + path : `${BASE}${path}?${text}`;
}

function requestInit(options: RequestOptions, accept: string): RequestInit {
  // The browser would log every 404 of a value that is gone as an error of the page.
  const headers: Record<string, string> = { Accept: accept, Prefer: 'gone=200' };
  const token = tokenStore.read();
  if (token !== null) headers['Authorization'] = `Bearer ${token}`;
  if (options.body !== undefined) headers['Content-Type'] = 'application/json';
  if (options.file !== undefined) headers['Content-Type'] = 'application/octet-stream';
  return {
    method: options.method ?? 'GET',
    headers,
    cache: 'no-store',
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
    ...(options.file === undefined ? {} : { body: options.file }),
    ...(options.signal ? { signal: options.signal } : {}),
  };
}

function numbersOf(header: string | null): number[] {
  return (header ?? '').split(',').flatMap((part) => (part.trim() === '' ? [] : [Number(part)]));
}

class HttpClient {
  // Called when the server refuses a request because its token, or its lack of one, is not valid.
  onUnauthorized: (token: string | null) => void = () => {};

  async json<T>(path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.send(path, options, 'application/json');
    if (response.status === 204) return undefined as T;
    return (await response.json()) as T;
  }

  // Fetches the values of a slice in binary, which is ten times as fast as JSON.
  async slice(path: string, query: Query, signal?: AbortSignal): Promise<TensorSlice> {
    const response = await this.send(path, { query, signal }, 'application/octet-stream');
    const { headers } = response;
    const dtype = headers.get('X-Graphdbg-Dtype') ?? '';
    const scale = headers.get('X-Graphdbg-Grad-Scale');
    const buffer = await response.arrayBuffer();
    const received_at = performance.now();
    return {
      name: String(query['name']),
      step: Number(headers.get('X-Graphdbg-Step')),
      slice: String(query['slice']),
      shape: numbersOf(headers.get('X-Graphdbg-Shape')),
      overwritten: headers.get('X-Graphdbg-Overwritten') === 'true',
      grad_scale: scale === null ? null : Number(scale),
      elements: decodeElements(dtype, buffer),
      dtype,
      received_at,
    };
  }

  // Fetches a file of packed columns.
  async columns(path: string, query: Query, signal?: AbortSignal): Promise<ArrayBuffer> {
    const response = await this.send(path, { query, signal }, 'application/octet-stream');
    return response.arrayBuffer();
  }

  // Fetches a matrix of float32. Its last row is of step `step`.
  async floats(path: string, query: Query, signal?: AbortSignal): Promise<Floats> {
    const response = await this.send(path, { query, signal }, 'application/octet-stream');
    const { headers } = response;
    const [rows = 0, columns = 0] = numbersOf(headers.get('X-Graphdbg-Shape'));
    return { rows, columns, step: Number(headers.get('X-Graphdbg-Step')), values: new Float32Array(await response.arrayBuffer()) };
  }

  async map(path: string, query: Query, signal?: AbortSignal): Promise<TensorMap> {
    const response = await this.send(path, { query, signal }, 'application/octet-stream');
    const { headers } = response;
    const pair = (name: string) => {
      const [rows = 0, columns = 0] = numbersOf(headers.get(name));
      return [rows, columns] as const;
    };
    const [, rows = 0, columns = 0] = numbersOf(headers.get('X-Graphdbg-Shape'));
    const buffer = await response.arrayBuffer();
    const count = rows * columns;
    const plane = (at: number) => new Float32Array(buffer, at * count * 4, count);
    return {
      step: Number(headers.get('X-Graphdbg-Step')),
      grid: pair('X-Graphdbg-Grid'),
      block: pair('X-Graphdbg-Block'),
      blocks: [rows, columns],
      extreme: plane(0),
      min: plane(1),
      max: plane(2),
      mean: plane(3),
      non_finite: plane(4),
    };
  }

  // Fetches a file, with the name that the server suggests for it.
  async file(path: string, query: Query): Promise<{ name: string; data: Blob }> {
    const response = await this.send(path, { query }, 'application/octet-stream');
    const disposition = response.headers.get('Content-Disposition') ?? '';
    const name = /filename="([^"]+)"/.exec(disposition)?.[1] ?? 'tensor';
    return { name, data: await response.blob() };
  }

  private async send(path: string, options: RequestOptions, accept: string): Promise<Response> {
    const token = tokenStore.read();
    let response: Response;
    try {
      const early = path === '/server' ? earlyServerRequest.take() : null;
      response = await (early ?? fetch(urlOf(path, options.query), requestInit(options, accept)));
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') throw error;
      throw unreachable();
    }
    if (!response.ok || isProblem(response)) {
      if (response.status === 401 && path !== '/login') this.onUnauthorized(token);
      throw await problemFrom(response);
    }
    return response;
  }
}

export const http = new HttpClient();
