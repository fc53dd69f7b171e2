import {messagesOf, type Strings} from './cloudscape';

export const strings: Strings = {
	'alert': {
		'dismissAriaLabel': 'Închide alerta',
		'i18nStrings.successIconAriaLabel': 'Reușită',
		'i18nStrings.errorIconAriaLabel': 'Eroare',
		'i18nStrings.warningIconAriaLabel': 'Avertisment',
		'i18nStrings.infoIconAriaLabel': 'Informație',
		'i18nStrings.dismissAriaLabel': 'Închide alerta',
	},
	'app-layout': {
		'ariaLabels.drawers': 'Panouri',
		'ariaLabels.drawersOverflow': 'Alte panouri',
		'ariaLabels.drawersOverflowWithBadge': 'Alte panouri, cu insignă',
		'ariaLabels.navigation': 'Navigare laterală',
		'ariaLabels.navigationClose': 'Închide navigarea laterală',
		'ariaLabels.navigationToggle': 'Deschide navigarea laterală',
		'ariaLabels.notifications': 'Notificări',
		'ariaLabels.tools': 'Panou de ajutor',
		'ariaLabels.toolsClose': 'Închide panoul de ajutor',
		'ariaLabels.toolsToggle': 'Deschide panoul de ajutor',
	},
	'attribute-editor': {
		'removeButtonText': 'Elimină',
		'i18nStrings.itemRemovedAriaLive': 'Element eliminat',
	},
	'slider': {
		'i18nStrings.valueTextRange': '{value}, între {previousValue} și {nextValue}',
	},
	'multiselect': {
		'deselectAriaLabel': 'Elimină {option__label}',
		'i18nStrings.selectAllText': 'Selectează tot',
	},
	'breadcrumb-group': {
		'expandAriaLabel': 'Arată calea',
	},
	'button-dropdown': {
		'filteringResultsText': '{matchesCount} din {totalCount} elemente',
		'noMatch': 'Nicio acțiune potrivită',
		'i18nStrings.filteringItemAriaDescription': 'Continuați să scrieți pentru a filtra rezultatele.',
	},
	'button': {
		'i18nStrings.externalIconAriaLabel': 'Se deschide într-o filă nouă',
	},
	'copy-to-clipboard': {
		'i18nStrings.copyButtonText': 'Copiază',
	},
	'error-boundary': {
		'i18nStrings.headerText': 'Eroare neașteptată, conținutul nu a putut fi afișat',
		'i18nStrings.descriptionText': 'Reîmprospătați pagina pentru a încerca din nou.',
		'i18nStrings.refreshActionText': 'Reîmprospătează pagina',
	},
	'flashbar': {
		'i18nStrings.ariaLabel': 'Notificări',
		'i18nStrings.errorIconAriaLabel': 'Eroare',
		'i18nStrings.inProgressIconAriaLabel': 'În curs',
		'i18nStrings.infoIconAriaLabel': 'Informație',
		'i18nStrings.notificationBarAriaLabel': 'Toate notificările',
		'i18nStrings.notificationBarText': 'Notificări',
		'i18nStrings.successIconAriaLabel': 'Reușită',
		'i18nStrings.warningIconAriaLabel': 'Avertisment',
	},
	'form-field': {
		'i18nStrings.errorIconAriaLabel': 'Eroare',
		'i18nStrings.warningIconAriaLabel': 'Avertisment',
	},
	'form': {
		'errorIconAriaLabel': 'Eroare',
	},
	'help-panel': {
		'loadingText': 'Se încarcă conținutul',
	},
	'input': {
		'clearAriaLabel': 'Șterge',
	},
	'link': {
		'externalIconAriaLabel': 'Se deschide într-o filă nouă',
	},
	'modal': {
		'closeAriaLabel': 'Închide fereastra',
	},
	'pagination': {
		'ariaLabels.nextPageLabel': 'Pagina următoare',
		'ariaLabels.pageLabel': 'Pagina {pageNumber}',
		'ariaLabels.previousPageLabel': 'Pagina anterioară',
		'ariaLabels.jumpToPageButtonLabel': 'Mergi la pagină',
		'i18nStrings.jumpToPageInputLabel': 'Pagina',
		'i18nStrings.jumpToPageError': 'Pagina nu există. Se arată ultima pagină disponibilă.',
		'i18nStrings.jumpToPageLoadingText': 'Se încarcă',
		'i18nStrings.pagesCompactText': '{currentPage} din {pagesCount}',
	},
	'select': {
		'errorIconAriaLabel': 'Eroare',
		'selectedAriaLabel': 'Selectat',
		'recoveryText': 'Încearcă din nou',
	},
	'table': {
		'ariaLabels.resizerRoleDescription': 'buton de redimensionare',
		'ariaLabels.submittingEditText': 'Se trimite modificarea',
		'ariaLabels.successfulEditLabel': 'Modificare reușită',
		'ariaLabels.expandButtonLabel': 'Extinde',
		'ariaLabels.collapseButtonLabel': 'Restrânge',
		'columnDefinitions.editConfig.errorIconAriaLabel': 'Eroare',
		'columnDefinitions.editConfig.editIconAriaLabel': 'editabil',
		'i18nStrings.sortDropdownSortAscending': 'Sortează crescător',
		'i18nStrings.sortDropdownSortDescending': 'Sortează descrescător',
		'i18nStrings.sortDropdownMultiColumnSortGroup': 'Sortare după mai multe coloane (Shift + clic)',
		'i18nStrings.sortDropdownAddToSortAscending': 'Adaugă la sortare (crescător)',
		'i18nStrings.sortDropdownAddToSortDescending': 'Adaugă la sortare (descrescător)',
		'i18nStrings.sortDropdownRemoveFromSort': 'Scoate din sortare',
		'i18nStrings.sortDropdownAddToSortDisabledReason': 'Această coloană este deja sortată',
		'i18nStrings.sortDropdownRemoveFromSortDisabledReason': 'Această coloană nu este sortată',
		'i18nStrings.clearSort': 'Șterge sortarea',
		'ariaLabels.sortAscending': 'crescător',
		'ariaLabels.sortDescending': 'descrescător',
		'ariaLabels.liveAnnouncementSortOrder': 'Tabel sortat după {columns}',
		'ariaLabels.liveAnnouncementSortCleared': 'Sortare ștearsă',
		'ariaLabels.sortPriority': 'prioritatea de sortare {priority}',
		'ariaLabels.sortMenuTriggerLabel': 'Opțiuni de sortare',
	},
	'tabs': {
		'i18nStrings.scrollLeftAriaLabel': 'Derulează la stânga',
		'i18nStrings.scrollRightAriaLabel': 'Derulează la dreapta',
		'i18nStrings.tabsWithActionsAriaRoleDescription': 'File cu acțiuni',
	},
	'token-group': {
		'i18nStrings.limitShowFewer': 'Arată mai puține',
		'i18nStrings.limitShowMore': 'Arată mai multe',
	},
	'top-navigation': {
		'i18nStrings.searchIconAriaLabel': 'Caută',
		'i18nStrings.searchDismissIconAriaLabel': 'Închide căutarea',
		'i18nStrings.overflowMenuTriggerText': 'Mai multe',
		'i18nStrings.overflowMenuDismissIconAriaLabel': 'Închide meniul',
		'i18nStrings.overflowMenuBackIconAriaLabel': 'Înapoi',
		'i18nStrings.overflowMenuTitleText': 'Toate',
	},
};

export default messagesOf('ro', strings);
