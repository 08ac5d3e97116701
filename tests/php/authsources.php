<?php

// Without an identity provider here, SimpleSAMLphp would ask the user to choose one.
$known = getenv('SERVICE_PROVIDER_FOLDER') . '/identity-provider.xml';
$config = [
    'assent' => [
        'saml:SP',
        'idp' => is_file($known) ? (string) simplexml_load_file($known)['entityID'] : null,
        'privatekey' => 'key.pem',
        'certificate' => 'certificate.pem',
        'sign.authnrequest' => getenv('SERVICE_PROVIDER_SIGNS') === 'yes',
        'sign.logout' => true,
        'validate.logout' => true,
        'WantAssertionsSigned' => true,
        'proxymode.passAuthnContextClassRef' => false,
    ],
];
