import { expect, it } from 'vitest';
import { namesTag, negotiateEncoding, negotiateMediaType } from '../../server/http/negotiation.js';

const JSON_TYPE = 'application/json';
const MSGPACK = 'application/msgpack';
const ARROW = 'application/vnd.apache.arrow.stream';

it.each([
  ['', JSON_TYPE],
  ['*/*', JSON_TYPE],
  ['application/*', JSON_TYPE],
  ['application/json; charset=utf-8', JSON_TYPE],
  ['APPLICATION/MsgPack', MSGPACK],
  ['application/msgpack', MSGPACK],
  [ARROW, ARROW],
  ['text/html, */*;q=0.1', JSON_TYPE],
  ['application/json;q=0.5, application/msgpack', MSGPACK],
  ['application/json;q=0.5, application/msgpack;q=0.5', JSON_TYPE],
  ['*/*;q=0.2, application/vnd.apache.arrow.stream;q=0.3', ARROW],
  ['application/json;q=0, */*', MSGPACK],
  ['application/json;q=0, application/*;q=0, */*', null],
  ['application/*;q=0, application/msgpack', MSGPACK],
  ['application/json;q=1.000', JSON_TYPE],
  ['application/json;level=1;q=0.2, application/msgpack;q=0.3', MSGPACK],
  ['text/html', null],
  ['application/json;q=0', null],
  ['application/json;q=2', null],
  ['application/json;q=abc, application/msgpack;q=0.1', MSGPACK],
  ['nonsense,,;', null],
])('Accept %j gives %s', (accept, expected) => {
  expect(negotiateMediaType(accept, [JSON_TYPE, MSGPACK, ARROW])).toBe(expected);
});

it.each([
  ['', 'identity'],
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['GZIP', 'gzip'],
  ['x-gzip', 'gzip'],
  ['x-gzip;q=0, br', 'br'],
  ['gzip, deflate, br', 'br'],
  ['deflate, gzip, br, zstd', 'br'],
  ['gzip;q=1.0, br;q=0.9', 'gzip'],
  ['gzip;q=0.2, br;q=0.1, identity;q=0.5', 'identity'],
  ['gzip;q=0.001', 'gzip'],
  ['deflate', 'identity'],
  ['gzip;q=0', 'identity'],
  ['*', 'br'],
  ['*;q=0.5, br;q=0', 'gzip'],
  ['identity', 'identity'],
  ['identity;q=0', null],
  ['*;q=0', null],
  ['*;q=0, gzip', 'gzip'],
  ['*;q=0, identity', 'identity'],
  ['identity;q=0, br;q=0.1', 'br'],
  ['x-unknown, ,', 'identity'],
  [`${'x,'.repeat(99)}gzip`, 'gzip'],
  [`${'x,'.repeat(100)}gzip`, 'identity'],
  [`gzip${';x'.repeat(98)};q=0`, 'identity'],
  [`gzip${';x'.repeat(99)};q=0`, 'gzip'],
])('Accept-Encoding %j gives %s', (header, expected) => {
  expect(negotiateEncoding(header, ['br', 'gzip'])).toBe(expected);
});

it.each([
  ['"a"', true],
  ['W/"a"', true],
  ['"b", W/"a"', true],
  ['  "b" ,"a" ', true],
  ['*', true],
  ['', false],
  ['"b"', false],
  ['a', false],
  ['"A"', false],
  ['"a"b', false],
])('If-None-Match %s names the tag: %s', (header, isNamed) => {
  expect(namesTag(header, '"a"')).toBe(isNamed);
  expect(namesTag(header, 'W/"a"')).toBe(isNamed);
});
