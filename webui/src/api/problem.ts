export const UNREACHABLE = 'unreachable';

// An error response of the API (RFC 9457). A network failure has status 0 and the code UNREACHABLE.
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly field: string | null = null,
    // Position in the field's text, starting at 1.
    readonly column: number | null = null,
  ) {
    super(detail || title);
    this.name = 'Problem';
  }
}

function textOf(body: Record<string, unknown>, key: string): string {
  const value = body[key];
  return typeof value === 'string' ? value : '';
}

// A problem may have status 200: see `Prefer` in http.ts.
export function isProblem(response: Response): boolean {
  return response.headers.get('Content-Type')?.startsWith('application/problem+json') === true;
}

export async function problemFrom(response: Response): Promise<Problem> {
  let body: Record<string, unknown> = {};
  try {
    const parsed: unknown = await response.json();
    if (typeof parsed === 'object' && parsed !== null) body = parsed as Record<string, unknown>;
  } catch {
    // Not a problem document, for example from a proxy: only the status is known.
  }
  const title = textOf(body, 'title') || response.statusText || `HTTP ${response.status}`;
  return new Problem(
    typeof body['status'] === 'number' ? body['status'] : response.status,
    textOf(body, 'code') || `http_${response.status}`,
    title,
    textOf(body, 'detail') || title,
    textOf(body, 'field') || null,
    typeof body['column'] === 'number' ? body['column'] : null,
  );
}

export function unreachable(): Problem {
  return new Problem(0, UNREACHABLE, UNREACHABLE, '');
}
