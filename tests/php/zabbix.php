<?php

/*
 * Runs before each page of Zabbix. Debian's frontend reads its settings from one file of the machine. Here an
 * environment variable names the file.
 */

$source = file_get_contents($_SERVER['DOCUMENT_ROOT'] . '/include/classes/core/CConfigFile.php');
eval('?>' . str_replace("'/etc/zabbix/zabbix.conf.php'", var_export(getenv('ZABBIX_SETTINGS'), true), $source));
