// Posts the answer to the application. It runs in old browsers too.
document.getElementById('answer').submit();
