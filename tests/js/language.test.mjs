// The check of the English finds the texts of each kind of file, at their places, and nothing else.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { codeComments, fluentTexts, hashComments, proseOfMarkdown } from '../language/texts.mjs';

const words = (text) => text.split(/\s+/).filter(Boolean).join(' ');

test('the comments of code are checked, and neither strings nor quotations', () => {
  const source = [
    'let url = "https://id.example"; // The issuer.',
    "let mark = '\"'; /* A mark. */",
    'let raw = r#"// no comment"#;',
    '/// The page says "told anew", or `alone`.',
  ].join('\n');
  const checked = codeComments(source);
  assert.equal(words(checked), 'The issuer. A mark. The page says , or .');
  assert.equal(checked.length, source.length);
  assert.equal(checked.split('\n')[0].indexOf('The issuer'), source.indexOf('The issuer'));
});

test('the comments of scripts and settings are checked', () => {
  assert.equal(words(hashComments('#!/bin/sh\n# Starts it.\nrun # here\n  # Ends it.\n')), 'Starts it. Ends it.');
});

test('pages are checked without their blocks of code', () => {
  const page =
    '# Title\n\nA `code` and [a link](alone.md).\n\n```sh\nanew\n```\n\n1. Step\n\n   ```sh\n   anew\n   ```\n';
  assert.equal(words(proseOfMarkdown(page)), '# Title A and [a link . 1. Step');
});

test('the values of messages are checked', () => {
  assert.equal(words(fluentTexts('# About it\nkey = Hello { $name }\n    .title = More\n')), '# About it Hello More');
});
