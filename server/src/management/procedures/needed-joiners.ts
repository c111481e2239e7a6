/**
 * Letters that connect to the letter after them (Joining_Type D or L) in Arabic, Syriac, N'Ko, Hanifi Rohingya and Adlam,
 * from DerivedJoiningType.txt of Unicode 14. JavaScript's regular expressions have no class for them.
 */
const CONNECTS_FORWARD =
  "\\u0620\\u0626\\u0628\\u062a-\\u062e\\u0633-\\u063f\\u0641-\\u0647\\u0649\\u064a\\u066e\\u066f\\u0678-\\u0687\\u069a-\\u06bf" +
  "\\u06c1\\u06c2\\u06cc\\u06ce\\u06d0\\u06d1\\u06fa-\\u06fc\\u06ff\\u0712-\\u0714\\u071a-\\u071d\\u071f-\\u0727\\u0729\\u072b" +
  "\\u072d\\u072e\\u074e-\\u0758\\u075c-\\u076a\\u076d-\\u0770\\u0772\\u0775-\\u0777\\u077a-\\u077f\\u07ca-\\u07ea\\u0886" +
  "\\u0889-\\u088d\\u08a0-\\u08a9\\u08af\\u08b0\\u08b3-\\u08b8\\u08ba-\\u08c8\\u{10d00}-\\u{10d21}\\u{10d23}\\u{1e900}-\\u{1e943}";
/** Letters that connect only to the letter before them (Joining_Type R). */
const CONNECTS_BACKWARD_ONLY =
  "\\u0622-\\u0625\\u0627\\u0629\\u062f-\\u0632\\u0648\\u0671-\\u0673\\u0675-\\u0677\\u0688-\\u0699\\u06c0\\u06c3-\\u06cb\\u06cd" +
  "\\u06cf\\u06d2\\u06d3\\u06d5\\u06ee\\u06ef\\u0710\\u0715-\\u0719\\u071e\\u0728\\u072a\\u072c\\u072f\\u074d\\u0759-\\u075b" +
  "\\u076b\\u076c\\u0771\\u0773\\u0774\\u0778\\u0779\\u0870-\\u0882\\u088e\\u08aa-\\u08ac\\u08ae\\u08b1\\u08b2\\u08b9\\u{10d22}";

/** The virama of each script in which a joiner after it changes how the letters around it are written. */
const VIRAMAS = {
  Devanagari: "\\u094d",
  Bengali: "\\u09cd",
  Gurmukhi: "\\u0a4d",
  Gujarati: "\\u0acd",
  Oriya: "\\u0b4d",
  Tamil: "\\u0bcd",
  Telugu: "\\u0c4d",
  Kannada: "\\u0ccd",
  Malayalam: "\\u0d4d",
  Sinhala: "\\u0dca",
} as const;

/**
 * A joiner where it changes how a word is written, by the rules for labels of domain names (RFC 5892, appendix A.1 and A.2):
 * a non-joiner between two letters that would connect, and either joiner after a virama. Other than there, a letter of the
 * virama's script must follow, because at the end of a word many fonts show no difference. Bengali writes a joiner before the
 * virama, too, in ra with ya-phalaa (section 12.2 of the Unicode Standard).
 */
const ALLOWED = new RegExp(
  [
    `(?<=[${CONNECTS_FORWARD}]\\p{Mn}*)\\u200c(?=\\p{Mn}*[${CONNECTS_FORWARD}${CONNECTS_BACKWARD_ONLY}])`,
    ...Object.entries(VIRAMAS).map(([script, virama]) => {
      const letter = `(?=\\p{Script=${script}})\\p{L}`;
      return `(?<=${letter}\\p{M}*${virama})[\\u200c\\u200d](?=${letter})`;
    }),
    "(?<=\\u09b0)\\u200d(?=\\u09cd\\u09af)",
  ].join("|"),
  "gu",
);

/** What composes emoji: joiners and tags. */
const COMPOSING = /[\u200d\u{e0020}-\u{e007f}]/u;

const COMPOSED = ["\\p{RGI_Emoji_ZWJ_Sequence}", "\\p{RGI_Emoji_Tag_Sequence}"];
let composedEmoji: RegExp | null = null;

/**
 * The text with a letter for each emoji that is composed of several and that Unicode recommends for general interchange (UTS #51): fonts draw a
 * family or the flag of England as one, and what is invisible in these is needed.
 */
export function withoutComposedEmoji(text: string): string {
  if (!COMPOSING.test(text)) return text;
  // The engine takes 20 ms to list these emoji, a twentieth of a start.
  composedEmoji ??= new RegExp(COMPOSED.join("|"), "gv");
  return text.replace(composedEmoji, "e");
}

/**
 * Whether each zero-width joiner (U+200D) and non-joiner (U+200C) of a text is where its script needs it, as in Persian and
 * Sinhala words. Elsewhere they are invisible, and two names that differ by them look the same.
 */
export function joinersAreNeeded(text: string): boolean {
  return !/[\u200c\u200d]/u.test(text.replace(ALLOWED, ""));
}
