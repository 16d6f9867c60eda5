/** What stands for a text's bytes before they are coded, 16 bits each. */

/** The sixteen characters from `,` on: comma, minus, point, slash, digits, colon, semicolon. */
export const FIRST_DIGIT = 44;
/** Tokens below are three of them, from here on two, from BYTES on any one byte. */
export const PAIRS = 16 ** 3;
export const BYTES = PAIRS + 16 ** 2;
export const LITERAL_TOKENS = BYTES + 256;
/** A match: this and its length; the token after it is the distance - 1. */
export const MATCH = 0x8000;
