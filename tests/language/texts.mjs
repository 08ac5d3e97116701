// The English of a file, at its place: everything else is replaced by spaces, so that lines and columns stay.

/** A comment, a raw string, a string, a character, or another character of Rust or JavaScript. */
const CODE = new RegExp(
  [
    /(\/\/[^\n]*|\/\*[\s\S]*?\*\/)/,
    /b?r(#*)"[\s\S]*?"\2/,
    /b?"(?:[^"\\]|\\[\s\S])*"/,
    /'(?:[^'\\\n]|\\.[^'\n]*)'/,
    /`(?:[^`\\]|\\[\s\S])*`/,
    /[\s\S]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

const blank = (text) => text.replace(/[^\n]/g, ' ');

/** Without code in backquotes and text in quotation marks, which may be those of others. */
const unquoted = (text) => text.replace(/`[^`]*`|"[^"\n]*(?:\n[^"\n]*)?"|“[^”]*”|‘[^’\n]*’|\]\([^)]*\)/g, blank);

/** The comments of Rust and JavaScript. */
export function codeComments(text) {
  const comments = text.replace(CODE, (token, comment) => {
    if (comment === undefined) return blank(token);
    return comment.replace(/^\s*(\/\/[/!]?|\/\*+)|\*\/$|^\s*\*/gm, blank);
  });
  return unquoted(comments);
}

/** The comments that begin with a number sign. */
export function hashComments(text) {
  const lines = text.split('\n').map((line) => {
    const found = /^(\s*)#+!?(?: |$)/.exec(line);
    return found ? blank(found[0]) + line.slice(found[0].length) : blank(line);
  });
  return unquoted(lines.join('\n'));
}

/** A page without its blocks of code. */
export function proseOfMarkdown(text) {
  const prose = text.replace(/^( *)(```+)[\s\S]*?^\1\2/gm, blank).replace(/<!--[\s\S]*?-->/g, blank);
  return unquoted(prose);
}

/** The values of Fluent messages, and its comments. */
export function fluentTexts(text) {
  return unquoted(text.replace(/^[\w-]+ = ?|^\s+\.[\w-]+ = ?|\{[^}]*\}/gm, blank));
}
