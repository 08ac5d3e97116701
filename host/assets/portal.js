// Tells moments in the time of the place where the browser is. Without it pages tell them as they are in Greenwich.
const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'long', timeStyle: 'short' });
for (const time of document.querySelectorAll('time[datetime]')) time.textContent = format.format(new Date(time.dateTime));
