// Tells moments in the time of the place where the browser is. Without it pages tell them as they are in Greenwich.
const { lang } = document.documentElement;
// The page's language, in the way that it is spoken where the person is.
const spoken = navigator.languages.find((language) => language.startsWith(lang)) ?? lang;
const format = new Intl.DateTimeFormat(spoken, { dateStyle: 'long', timeStyle: 'short' });
/** @type {NodeListOf<HTMLTimeElement>} */
const moments = document.querySelectorAll('time[datetime]');
for (const time of moments) time.textContent = format.format(new Date(time.dateTime));
