<?php

/*
 * SimpleSAMLphp as a service provider. An environment variable names the folder with its files: `key.pem`,
 * `certificate.pem`, and `identity-provider.xml`, which is the identity provider's metadata as published.
 */

$folder = getenv('SERVICE_PROVIDER_FOLDER');
$config = [
    'baseurlpath' => 'http://' . $_SERVER['HTTP_HOST'] . '/',
    'certdir' => $folder,
    'tempdir' => $folder,
    'loggingdir' => $folder,
    'datadir' => $folder,
    'attributenamemapdir' => $folder,
    'secretsalt' => 'only for this test',
    'auth.adminpassword' => bin2hex(random_bytes(16)),
    'technicalcontact_name' => 'Nobody',
    'technicalcontact_email' => 'nobody@example.org',
    'timezone' => 'UTC',
    'admin.checkforupdates' => false,
    'showerrors' => true,
    'errorreporting' => false,
    'logging.level' => SimpleSAML\Logger::INFO,
    'logging.handler' => 'file',
    'logging.logfile' => 'simplesamlphp.log',
    'module.enable' => ['core' => true, 'saml' => true],
    'store.type' => 'phpsession',
    'session.phpsession.savepath' => $folder,
    'session.phpsession.cookiename' => 'SimpleSAMLphp',
    // The server uses plain http on the loopback address.
    'session.cookie.secure' => false,
    'session.cookie.samesite' => null,
    'language.cookie.secure' => false,
    'metadata.sources' => [['type' => 'xml', 'file' => $folder . '/identity-provider.xml']],
];
