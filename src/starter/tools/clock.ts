import { tool } from '@langchain/core/tools';
import { z } from 'zod';

/** Tells the date and time of day, anywhere on earth. */
export const currentTime = tool(
  ({ timeZone }) => {
    const zone = timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    return `${clock(zone).format(new Date())} (${zone})`;
  },
  {
    name: 'current_time',
    description: 'The current date and time. Give a time zone when the user asks about a place.',
    schema: z.object({
      timeZone: z
        .string()
        .max(64)
        .optional()
        .describe("IANA name such as Europe/Paris; leave it out for the server's own zone"),
    }),
  },
);

function clock(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long', timeZone });
  } catch {
    throw new Error(`"${timeZone}" is not an IANA time zone. Examples: Europe/Paris, Asia/Tokyo, UTC.`);
  }
}
