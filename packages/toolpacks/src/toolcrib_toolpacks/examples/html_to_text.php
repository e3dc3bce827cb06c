<?php
// Prints the readable text of some HTML: reads `html` as JSON, prints JSON.
declare(strict_types=1);

$given = json_decode(stream_get_contents(STDIN), true, 512, JSON_THROW_ON_ERROR);
$html = preg_replace('~<(script|style)\b.*?</\1\s*>~is', '', $given['html']);
$html = preg_replace('~<(?:br|/p|/div|/li|/h[1-6]|/tr)\b[^>]*>~i', "$0\n", $html);
$text = html_entity_decode(strip_tags($html), ENT_QUOTES | ENT_HTML5, 'UTF-8');
$lines = array_map(fn (string $line): string => trim(preg_replace('~\s+~u', ' ', $line)), explode("\n", $text));
echo json_encode(['text' => implode("\n", array_filter($lines, 'strlen'))], JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
