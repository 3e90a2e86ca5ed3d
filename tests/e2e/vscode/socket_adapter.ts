// Takes the place of tools/vscode/src/adapter.ts, because a page starts no programs: the adapter
// runs behind a WebSocket of serve.mjs.

import * as vscode from 'vscode';

class SocketAdapter implements vscode.DebugAdapter {
  private readonly emitter = new vscode.EventEmitter<vscode.DebugProtocolMessage>();
  readonly onDidSendMessage = this.emitter.event;

  constructor(private readonly socket: WebSocket) {
    socket.onmessage = ({ data }) => this.emitter.fire(JSON.parse(data as string) as vscode.DebugProtocolMessage);
  }

  handleMessage(message: vscode.DebugProtocolMessage): void {
    this.socket.send(JSON.stringify(message));
  }

  dispose(): void {
    this.socket.close();
  }
}

export class AdapterFactory implements vscode.DebugAdapterDescriptorFactory {
  async createDebugAdapterDescriptor(): Promise<vscode.DebugAdapterDescriptor> {
    const socket = new WebSocket(`ws://${location.host}/dap`);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    return new vscode.DebugAdapterInlineImplementation(new SocketAdapter(socket));
  }
}
