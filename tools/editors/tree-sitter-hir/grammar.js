// Tree-sitter grammar of hirc's concise surface. Lists of words are written by tools/editors/generate.
//
// Ends of lines are blanks here: no statement can begin with what may go on with the one before it.

// words: types
const types = [
  'f64', 'f32', 'bf16', 'f16', 'f8e4m3', 'f8e5m2', 'i64', 'i32', 'i16', 'i8', 'u8', 'bool',
];
// end of words

// words: primitives
const primitives = [
  'split', 'merge', 'swizzle1d', 'parallelize', 'reorder', 'allocation', 'contiguity',
];
// end of words

// words: memories
const memories = [
  'global', 'local', 'symmetric',
];
// end of words

const commas = (rule) => seq(rule, repeat(seq(',', rule)));

module.exports = grammar({
  name: 'hir',

  word: ($) => $.identifier,
  extras: ($) => [/\s/, $.comment],
  conflicts: ($) => [
    [$.call],
    [$._expression, $._target],
    [$.type],
    [$.attributes, $.block],
  ],

  rules: {
    source_file: ($) => repeat(choice($._declaration, $.program)),

    comment: () => token(seq('#', /[^\n]*/)),

    _declaration: ($) => choice($.param, $.const, $.mesh, $.group, $.cluster),
    param: ($) => prec.right(seq('param', field('name', $._name), optional(seq('=', $._expression)))),
    const: ($) => seq('const', field('name', $._name), '=', $._expression),
    mesh: ($) => prec.right(seq('mesh', field('name', $._name), '(', commas($.mesh_axis), ')',
      optional(seq('=', $.devices)))),
    mesh_axis: ($) => seq(field('name', $._name), optional(seq('=', $._expression))),
    group: ($) => prec.right(seq('group', field('name', $._name), '(', $._expression, ')',
      optional(seq('=', $.devices)), optional($.attributes))),
    cluster: ($) => seq('cluster', field('name', $._name), $.attributes),
    devices: ($) => seq('{', repeat(seq(choice($.device_range, $._device, $.devices), optional(','))), '}'),
    device_range: ($) => seq($._device, '..', $._device),
    _device: ($) => choice($.integer, $._name, seq('(', $._expression, ')')),

    program: ($) => seq('program', field('name', $._name), optional(seq('on', field('mesh', $._name))), $.block),
    block: ($) => seq('{', repeat($._statement), '}'),
    _statement: ($) => choice($.input, $.definition, $.write, $.export, $.let, $.for, $.if, $.unit, $.schedule,
      $.call_statement),

    input: ($) => prec.right(seq(choice('input', 'inout'), field('name', $._name), ':', $.type,
      optional($.attributes), optional(seq('=', $._expression)))),
    definition: ($) => prec.right(seq(optional('output'), commas($._target), '=', $._expression, optional($.as))),
    write: ($) => prec.right(seq(commas($._target), '<-', $._expression, optional($.as))),
    export: ($) => seq('output', field('name', $._name)),
    _target: ($) => choice($.result, $.call),
    result: ($) => seq(field('name', $._name), optional(seq(':', $.type))),
    as: ($) => seq('as', field('name', $._name)),
    call_statement: ($) => prec.right(seq($.call, optional($.as))),
    let: ($) => seq('let', field('name', $._name), '=', $._expression),
    for: ($) => seq('for', field('name', $._name), 'in', $._expression, '..', $._expression,
      optional(seq('parallel', '(', $._name, ')')), $.block),
    if: ($) => prec.right(seq('if', $._expression, $.block, optional(seq('else', $.block)))),
    unit: ($) => seq(choice('unit', 'launch_kernel'), $.block),
    schedule: ($) => seq('schedule', field('tensor', $._name), '{', repeat(choice($.primitive, ';')), '}'),
    primitive: ($) => prec.right(seq(field('name', alias(choice(...primitives), $.primitive_name)),
      repeat1(choice($.integer, $._name, seq('(', commas($._expression), ')'))))),

    type: ($) => prec.right(seq(field('dtype', $.dtype), '[', optional(commas($.axis)), ']', repeat($._suffix))),
    dtype: () => choice(...types),
    axis: ($) => seq($._expression, repeat($.place)),
    place: ($) => prec.right(seq('@', field('name', $._name), optional(seq('(', $._expression, ')')))),
    _suffix: ($) => choice($.on, $.partial, $.reduce, $.memory),
    on: ($) => seq('on', $._name),
    partial: ($) => seq('partial', optional(choice($._name, 'and', 'or')), '(', commas($._name), ')'),
    reduce: ($) => seq('reduce', '(', commas(seq(optional('rf'), $.axis)), ')'),
    memory: () => choice(...memories),

    _expression: ($) => choice($._name, $.integer, $.float, $.string, $.call, $.list, $.tuple, $.binary, $.unary),
    call: ($) => prec.right(seq(choice(field('function', choice($._name, alias(choice(...primitives), $.identifier))),
      seq('extern', $.string)), '(', optional(seq(commas(choice($._expression, $.key)), optional(','))), ')',
      optional($.attributes))),
    key: ($) => seq(field('key', choice($._name, 'group', 'mesh', 'input', 'output')), '=',
      choice($._expression, $.team, $.braces)),
    team: ($) => repeat1(seq('(', $.integer, repeat1(seq(optional(','), $.integer)), ')')),
    braces: ($) => seq('{', optional(seq(commas($._expression), optional(','))), '}'),
    attributes: ($) => seq('{', optional(seq(commas($.key), optional(','))), '}'),
    list: ($) => seq('[', optional(commas($.axis)), ']'),
    tuple: ($) => seq('(', optional(commas($._expression)), ')'),
    unary: ($) => choice(prec(7, seq('-', $._expression)), prec(3, seq('not', $._expression))),
    binary: ($) => choice(
      ...[['or', 1], ['and', 2], ['==', 4], ['!=', 4], ['<', 4], ['<=', 4], ['>', 4], ['>=', 4], ['+', 5], ['-', 5],
        ['*', 6], ['/', 6], ['%', 6]].map(([operator, level]) =>
        prec.left(level, seq($._expression, field('operator', operator), $._expression)))),

    _name: ($) => choice($.identifier, $.quoted),
    identifier: () => /[A-Za-z_][A-Za-z0-9_]*/,
    quoted: () => /`[^`\n]+`/,
    integer: () => /[0-9]+/,
    float: () => /[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+/,
    string: () => /"([^"\\\n]|\\[^\n])*"/,
  },
});
