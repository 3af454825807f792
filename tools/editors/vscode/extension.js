// Starts `hirc lsp` for programs of hirc.
const { workspace } = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration('hirc');
  const server = { command: settings.get('path'), args: ['lsp', ...settings.get('arguments')] };
  client = new LanguageClient('hirc', 'hirc', server, { documentSelector: [{ language: 'hir' }] });
  return client.start();
};

exports.deactivate = () => client && client.stop();
