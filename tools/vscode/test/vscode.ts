// Stands in for the `vscode` module, which exists only inside VS Code: the parts that the extension
// uses. Tests set what the user has chosen in `state`, and find there what the user would see.

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly fsPath: string,
    private readonly text: string,
  ) {}

  static file(path: string): Uri {
    return new Uri('file', path, `file://${path}`);
  }

  static parse(text: string): Uri {
    const url = new URL(text);
    return new Uri(url.protocol.slice(0, -1), url.pathname, text);
  }

  toString(): string {
    return this.text;
  }
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}

export class Range {
  readonly start: Position;
  readonly end: Position;

  constructor(line: number, character: number, end_line: number, end_character: number) {
    this.start = new Position(line, character);
    this.end = new Position(end_line, end_character);
  }
}

export class Disposable {
  constructor(private readonly action: () => void) {}

  dispose(): void {
    this.action();
  }
}

export class InlineValueText {
  constructor(
    readonly range: Range,
    readonly text: string,
  ) {}
}

export class EvaluatableExpression {
  constructor(
    readonly range: Range,
    readonly expression: string,
  ) {}
}

export class DebugAdapterExecutable {
  constructor(
    readonly command: string,
    readonly args: string[],
    readonly options: { cwd?: string } = {},
  ) {}
}

export class DebugStackFrame {
  constructor(readonly frameId: number) {}
}

export enum DebugConfigurationProviderTriggerKind {
  Initial = 1,
  Dynamic = 2,
}

export enum StatusBarAlignment {
  Left = 1,
}

export enum ViewColumn {
  Beside = -2,
  One = 1,
}

export class StatusBarItem {
  text = '';
  name = '';
  command = '';
  tooltip = '';
  visible = false;

  show(): void {
    this.visible = true;
  }

  hide(): void {
    this.visible = false;
  }

  dispose(): void {
    this.visible = false;
  }
}

export class WebviewPanel {
  revealed = 0;
  private onDispose: () => void = () => {};
  readonly webview = {
    html: '',
    /** Delivers a message of the document. */
    post: (() => {}) as (message: unknown) => void,
    onDidReceiveMessage: (listener: (message: unknown) => void) => {
      this.webview.post = listener;
    },
  };

  constructor(
    readonly title: string,
    readonly options: unknown,
  ) {}

  reveal(): void {
    this.revealed += 1;
  }

  onDidDispose(listener: () => void): void {
    this.onDispose = listener;
  }

  dispose(): void {
    this.onDispose();
  }
}

type Listener = () => void;
type Command = (...args: never[]) => unknown;

/** What the user has set up and sees. */
export interface State {
  settings: Record<string, unknown>;
  /** The interpreter of the Python extension; undefined without that extension. */
  interpreter: string | undefined;
  errors: string[];
  notes: string[];
  commands: Map<string, Command>;
  /** The kinds of providers that are registered now. */
  registered: string[];
  panels: WebviewPanel[];
  items: StatusBarItem[];
  /** Where the editor is, as "FILE:LINE". */
  shown: string[];
  started: unknown[];
  /** Chooses from a list; the first entry by default. */
  pick: (items: { label: string }[]) => unknown;
  sessionListeners: Set<Listener>;
  /** Tunnels of a remote workspace: an origin, and the one that reaches it. */
  tunnels: Record<string, string>;
}

function initial(): State {
  return {
    settings: {},
    interpreter: undefined,
    errors: [],
    notes: [],
    commands: new Map(),
    registered: [],
    panels: [],
    items: [],
    shown: [],
    started: [],
    pick: (items) => items[0],
    sessionListeners: new Set(),
    tunnels: {},
  };
}

export const state: State = initial();

export function reset(): void {
  Object.assign(state, initial());
  debug.activeDebugSession = undefined;
  debug.activeStackItem = undefined;
  window.activeTextEditor = undefined;
}

/** Makes a session the active one, as a click in the call stack does. */
export function activate(session: unknown): void {
  debug.activeDebugSession = session;
  for (const listener of state.sessionListeners) listener();
}

function register(kind: string): Disposable {
  state.registered.push(kind);
  return new Disposable(() => state.registered.splice(state.registered.indexOf(kind), 1));
}

export const debug = {
  activeDebugSession: undefined as unknown,
  activeStackItem: undefined as unknown,
  onDidChangeActiveDebugSession(listener: Listener): Disposable {
    state.sessionListeners.add(listener);
    return new Disposable(() => state.sessionListeners.delete(listener));
  },
  registerDebugAdapterDescriptorFactory: () => register('adapter'),
  registerDebugAdapterTrackerFactory: () => register('tracker'),
  registerDebugConfigurationProvider: () => register('configurations'),
  startDebugging: async (_: unknown, configuration: unknown) => state.started.push(configuration),
};

export const languages = {
  registerInlineValuesProvider: () => register('inline values'),
  registerEvaluatableExpressionProvider: () => register('hover'),
};

export const commands = {
  registerCommand(name: string, command: Command): Disposable {
    state.commands.set(name, command);
    return new Disposable(() => state.commands.delete(name));
  },
  executeCommand: async () => undefined,
};

export const window = {
  activeTextEditor: undefined as unknown,
  showErrorMessage: async (message: string) => void state.errors.push(message),
  showInformationMessage: async (message: string) => void state.notes.push(message),
  setStatusBarMessage: (message: string) => void state.notes.push(message),
  showQuickPick: async (items: { label: string }[]) => state.pick(items),
  createStatusBarItem(): StatusBarItem {
    const item = new StatusBarItem();
    state.items.push(item);
    return item;
  },
  createWebviewPanel(_: string, title: string, __: unknown, options: unknown): WebviewPanel {
    const panel = new WebviewPanel(title, options);
    state.panels.push(panel);
    return panel;
  },
  async showTextDocument(uri: Uri, { selection }: { selection: Range }): Promise<void> {
    state.shown.push(`${uri.fsPath}:${selection.start.line + 1}`);
  },
};

export const workspace = {
  getConfiguration: (section: string) => ({
    get: (key: string, fallback: unknown) => state.settings[`${section}.${key}`] ?? fallback,
  }),
  getWorkspaceFolder: () => undefined,
};

export const extensions = {
  getExtension(id: string) {
    const { interpreter } = state;
    if (id !== 'ms-python.python' || interpreter === undefined) return undefined;
    const environments = {
      getActiveEnvironmentPath: () => ({ path: interpreter }),
      resolveEnvironment: async () => ({ executable: { uri: Uri.file(interpreter) } }),
    };
    return { activate: async () => ({ environments }) };
  },
};

export const env = {
  async asExternalUri(uri: Uri): Promise<Uri> {
    return Uri.parse(state.tunnels[uri.toString()] ?? uri.toString());
  },
};
