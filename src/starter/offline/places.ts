/**
 * The time zones of the places a text names; one `undefined` when it names none. A place nobody knows is handed on
 * as it is, so that the tool can say so.
 */
export function placesIn(text: string): (string | undefined)[] {
  const zones = zonesByPlace();
  const words = text.match(/[\p{L}\p{M}\p{N}/_+-]+/gu) ?? [];
  const found: string[] = [];
  for (let at = 0; at < words.length; ) {
    const length = [3, 2, 1].find((size) => zones.has(placeName(words.slice(at, at + size)))) ?? 0;
    const zone = zones.get(placeName(words.slice(at, at + length)));
    if (zone !== undefined) found.push(zone);
    at += Math.max(length, 1);
  }
  if (found.length > 0) return [...new Set(found)];
  const unknown = /\b(?:time|date|day|it|now)\b.*?\bin (?:the )?(?!general|words|short)([\p{L}\p{M}' /_-]+)/iu.exec(
    text,
  )?.[1];
  return [unknown?.trim().slice(0, 64)];
}

function placeName(words: string[]): string {
  return words.join(' ').toLowerCase();
}

/** Every city the time zone database names, the zones by their full name, and places people ask for instead. */
function zonesByPlace(): Map<string, string> {
  const zones = new Map<string, string>();
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const city = zone.split('/').at(-1) ?? zone;
    zones.set(zone.toLowerCase(), zone).set(city.replaceAll('_', ' ').toLowerCase(), zone);
  }
  for (const [zone, places] of Object.entries(OTHER_PLACES)) {
    for (const place of places.split(', ')) zones.set(place, zone);
  }
  return zones;
}

const OTHER_PLACES = {
  UTC: 'utc, gmt, zulu',
  'America/Chicago': 'texas, dallas, houston, austin',
  'America/Los_Angeles': 'california, san francisco, seattle, silicon valley, las vegas',
  'America/New_York': 'nyc, washington, boston, miami, atlanta, philadelphia',
  'America/Sao_Paulo': 'são paulo, rio, rio de janeiro, brazil',
  'America/Toronto': 'ottawa, montreal, canada',
  'Asia/Dubai': 'abu dhabi, uae, emirates',
  'Asia/Jerusalem': 'tel aviv, israel',
  'Asia/Kolkata': 'kolkata, india, delhi, new delhi, mumbai, bangalore, bengaluru, chennai, hyderabad',
  'Asia/Seoul': 'korea, south korea',
  'Asia/Shanghai': 'china, beijing, shenzhen',
  'Asia/Tokyo': 'japan, osaka, kyoto',
  'Australia/Sydney': 'australia, canberra',
  'Europe/Berlin': 'germany, munich, hamburg, frankfurt, cologne',
  'Europe/Kyiv': 'kyiv, kiev, ukraine',
  'Europe/London': 'england, uk, united kingdom, manchester, scotland, edinburgh',
  'Europe/Madrid': 'spain, barcelona',
  'Europe/Paris': 'france, lyon, marseille',
  'Europe/Rome': 'italy, milan, naples',
  'Europe/Zurich': 'zürich, switzerland, geneva, basel',
};
