<?php

/*
 * The pages of a service provider with SimpleSAMLphp, for PHP's built-in web server. SimpleSAMLphp adds its own pages.
 *   /          the signed-in user, as JSON, or 401
 *   /login     starts a sign-on, with the parameters `format`, `force` and `passive`
 *   /refused   the status codes of a rejection by the identity provider, as JSON, with 403
 *   /logout    signs out here and at the identity provider
 *   /slo       the result of the logout
 */

declare(strict_types=1);

use SimpleSAML\Auth\Simple;
use SimpleSAML\Auth\State;
use SimpleSAML\Module\saml\Error;

$pages = [
    '/' => function (Simple $here): void {
        if (!$here->isAuthenticated()) {
            answer(401, []);
            return;
        }
        $name = $here->getAuthData('saml:sp:NameID');
        answer(200, [
            'issuer' => $here->getAuthData('saml:sp:IdP'),
            'name_id' => $name->getValue(),
            'format' => $name->getFormat(),
            'session_index' => $here->getAuthData('saml:sp:SessionIndex'),
            'attributes' => (object) $here->getAttributes(),
        ]);
    },
    '/login' => function (Simple $here): void {
        $here->login([
            'ReturnTo' => address('/'),
            'ErrorURL' => address('/refused'),
            'ForceAuthn' => isset($_GET['force']),
            'isPassive' => isset($_GET['passive']),
        ] + (isset($_GET['format']) ? ['saml:NameIDPolicy' => $_GET['format']] : []));
    },
    '/refused' => function (): void {
        $state = State::loadExceptionState();
        $error = Error::fromException($state[State::EXCEPTION_DATA]);
        answer(403, ['refused' => [$error->getStatus(), $error->getSubStatus()]]);
    },
    '/logout' => function (Simple $here): void {
        $here->logout([
            'ReturnTo' => address('/slo'),
            'ReturnStateParam' => 'state',
            'ReturnStateStage' => 'signed-out',
        ]);
    },
    '/slo' => function (): void {
        $status = State::loadState($_GET['state'], 'signed-out')['saml:sp:LogoutStatus'];
        answer(200, ['signed_out' => $status['Code']]);
    },
];

/** Returns the full address of one of these pages. */
function address(string $path): string
{
    return 'http://' . $_SERVER['HTTP_HOST'] . $path;
}

function answer(int $status, array $body): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($body, JSON_THROW_ON_ERROR);
}

$page = $pages[parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)] ?? null;
if ($page === null) {
    // One of SimpleSAMLphp's own pages.
    return false;
}
require $_SERVER['DOCUMENT_ROOT'] . '/_include.php';
$page(new Simple('assent'));
